// Migrations: filled by its first commit.
