"""English sentences: terms, dates, stance, sameness. Pure.

Nothing here knows the database.
"""
