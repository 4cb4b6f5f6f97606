// HTTPService: filled by its first commit.
