"""SQL expressions for the days that a date of an observation covers.

A stored date may be a day, a month or a year. Insert the column with `format`, as in
`LAST_DAY_SQL.format("referenced_date")`.
"""

FIRST_DAY_SQL = "substr({0} || '-01-01', 1, 10)"

LAST_DAY_SQL = """CASE
    WHEN length({0}) = 4 THEN {0} || '-12-31'
    WHEN length({0}) = 7 AND substr({0}, 6) = '12' THEN {0} || '-31'
    WHEN length({0}) = 7 THEN date({0} || '-01', '+1 month', '-1 day')
    ELSE {0} END"""
"""December is a special case because SQLite has no month after 9999-12."""

FILL_FIRST_DATES = """
    UPDATE observations SET first_date = (
        WITH RECURSIVE beneath(id) AS (
            VALUES (observations.id) UNION
            SELECT source_id FROM observation_sources JOIN beneath ON observation_id = beneath.id)
        SELECT nullif(min(o.observation_date), observations.observation_date)
        FROM observations AS o JOIN beneath ON beneath.id = o.id WHERE o.generation = 0)
    WHERE generation > 0"""
"""Sets `first_date` of every reflection.

It is the earliest date of its sources of generation 0, or NULL if that is the date of the
reflection itself. Used by a migration and by imports.
"""
