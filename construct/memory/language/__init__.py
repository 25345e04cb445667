"""English sentences: terms, dates, stance, sameness. Pure; nothing here knows the database."""
