"""PTX text: its syntax, its lexer and its parser."""
