// Postgres: filled by its first commit.
