import TestSupport
import Testing

@Suite("The report of an account tells of its files", .timeLimit(.minutes(5)))
struct AccountReportFilesTests {
    @Test("Which files are shared is told, but not where very many profiles had to be read for it")
    func sharedFiles() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(DirectoryPeople.sql)
            try await database.psql(
                """
                insert into storage.objects (bucket_id, name) values ('avatars', 'team.png');
                update public.profiles set avatar_url = 'team.png'
                """
            )
            let alone = try await DirectoryPeople.files(database)
            #expect(alone == [[0, 1]])
            try await database.psql(
                "insert into storage.objects (bucket_id, name) values ('avatars', '\(DirectoryPeople.anna)/a.png')"
            )
            let own = try await DirectoryPeople.files(database)
            #expect(own == [[1, 1]])
            // A page for each: 64 MB and a little more.
            try await database.psql(
                """
                set session_replication_role = replica;
                alter table public.profiles alter full_name set storage plain;
                insert into public.profiles (id, full_name) select gen_random_uuid(), repeat('x', 7000) from generate_series(1, 8300)
                """
            )
            let large = try await DirectoryPeople.files(database)
            #expect(large == [[2, nil]])
            // Partitioned, the table itself has no pages.
            try await database.psql(
                """
                set session_replication_role = replica;
                alter table public.profiles rename to former_profiles;
                create table public.profiles (
                    like public.former_profiles including storage,
                    primary key (id),
                    foreign key (id) references auth.users
                ) partition by hash (id);
                create table public.all_profiles partition of public.profiles for values with (modulus 1, remainder 0);
                insert into public.profiles select * from public.former_profiles;
                grant select on public.profiles to postgres
                """
            )
            let partitioned = try await DirectoryPeople.files(database)
            #expect(partitioned == [[2, nil]])
            // What nobody can share needs no reading.
            try await database.psql("update public.profiles set avatar_url = '' where id = '\(DirectoryPeople.anna)'")
            let nothing = try await DirectoryPeople.files(database)
            #expect(nothing == [[1, 0]])
        }
    }

    @Test("A file that the profile names is the account's, whatever column keys the profiles")
    func filesByOtherKey() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(DirectoryPeople.sql)
            try await database.psql(
                """
                insert into storage.objects (bucket_id, name) values ('avatars', 'anna.png');
                update public.profiles set avatar_url = 'anna.png' where id = '\(DirectoryPeople.anna)';
                alter table public.profiles rename column id to user_id
                """
            )
            let own = try await DirectoryPeople.files(database)
            #expect(own == [[1, 0]])
        }
    }

    @Test("Where few profiles take long to read, which files are shared is not told, and everything else is")
    func slowProfiles() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(DirectoryPeople.sql)
            // Found before the server's own, which the search calls for each profile.
            try await database.psql(
                """
                insert into storage.objects (bucket_id, name) values ('avatars', 'team.png');
                update public.profiles set avatar_url = 'team.png';
                create function public.translate(text, text, text) returns text language sql as 'select $1 from pg_sleep(20)'
                """
            )
            #expect(try await DirectoryPeople.files(database, searching: "public, pg_catalog") == [[1, nil]])
        }
    }
}
