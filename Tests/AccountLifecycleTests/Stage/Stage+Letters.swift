import Postgres

/// A table of the app, `public.letters`, whose rows go before the account: they also refer to each other, by a key that
/// does not cascade.
extension Stage {
    func createLetters() async throws {
        for statement in [
            """
            create table public.letters (
                id int primary key,
                author uuid references auth.users on delete cascade,
                answers int references public.letters
            )
            """,
            "create index on public.letters (author)",
            "create index on public.letters (answers)",
            "grant select, delete on public.letters to postgres",
        ] as [Statement] { try await sql(statement) }
    }
}
