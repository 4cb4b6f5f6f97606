// SignInWithApple: filled by its first commit.
