"""The SQLite database: opening, migrations, queries for each group of tables, transfer."""
