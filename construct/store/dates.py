"""The days of a stored date, as SQL: it may be a day, a month or a year.

Each is formatted with the column: `LAST_DAY_SQL.format("referenced_date")`.
"""

FIRST_DAY_SQL = "substr({0} || '-01-01', 1, 10)"

LAST_DAY_SQL = """CASE
    WHEN length({0}) = 4 THEN {0} || '-12-31'
    WHEN length({0}) = 7 AND substr({0}, 6) = '12' THEN {0} || '-31'
    WHEN length({0}) = 7 THEN date({0} || '-01', '+1 month', '-1 day')
    ELSE {0} END"""
"""December stands apart: after that of 9999 SQLite knows no month."""
