"""Checks of the exercises: one file a lesson, ``CHECKS`` in it."""

from __future__ import annotations

from pinlab.classroom.checks.check import Check, find_check

__all__ = ["Check", "find_check"]
