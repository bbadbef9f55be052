"""The predictions that each lesson asks for, as data: one file a lesson, ``QUESTIONS`` in it."""
