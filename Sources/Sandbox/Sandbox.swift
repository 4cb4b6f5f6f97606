// Sandbox: filled by its first commit.
