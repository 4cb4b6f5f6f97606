import Postgres

/// A table of the app, `public.posts`, whose rows are deleted with their authors, in batches where there are many.
extension Stage {
    func createPosts() async throws {
        try await sql("create table public.posts (id int, author uuid references auth.users on delete cascade)")
        try await sql("create index on public.posts (author)")
        try await sql("grant select, delete on public.posts to postgres")
    }

    /// Adds posts of a person's and updates the table's statistics.
    func addPosts(_ count: Int, of person: Person) async throws {
        try await sql("insert into public.posts select g, \(person.id) from generate_series(1, \(count)) as g")
        try await sql("analyze public.posts")
    }
}
