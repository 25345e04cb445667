"""The SQLite file: opening, migrations, plain queries for each group of tables, transfer."""
