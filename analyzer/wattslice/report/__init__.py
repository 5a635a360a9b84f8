"""Printing of finished analyses; nothing is computed here."""
