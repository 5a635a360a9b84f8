"""Enumerations whose members hash by identity: they are keys of the busiest tables."""

from __future__ import annotations

from enum import Enum


class IdentityEnum(Enum):
    """Hashed by identity: members are singletons, and they are keys in every hot loop."""

    __hash__ = object.__hash__
