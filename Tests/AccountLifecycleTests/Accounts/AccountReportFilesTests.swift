import TestSupport
import Testing

@Suite("The report of an account covers its files", .timeLimit(.minutes(5)))
struct AccountReportFilesTests {
    @Test("The report tells which files are shared, unless it would have to read very many profiles")
    func sharedFiles() async throws {
        try await DirectoryPeople.with { database in
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
            // Each profile fills a page: a little more than 64 MB in total.
            try await database.psql(
                """
                set session_replication_role = replica;
                alter table public.profiles alter full_name set storage plain;
                insert into public.profiles (id, full_name) select gen_random_uuid(), repeat('x', 7000) from generate_series(1, 8300)
                """
            )
            let large = try await DirectoryPeople.files(database)
            #expect(large == [[2, nil]])
            // A partitioned table has no pages of its own.
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
            // If no file can be shared, no other profiles have to be read.
            try await database.psql("update public.profiles set avatar_url = '' where id = '\(DirectoryPeople.anna)'")
            let nothing = try await DirectoryPeople.files(database)
            #expect(nothing == [[1, 0]])
        }
    }

    @Test("A file that the profile names belongs to the account, whatever the key column of the profiles is")
    func filesByOtherKey() async throws {
        try await DirectoryPeople.with { database in
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

    @Test("If even few profiles are slow to read, the report omits only which files are shared")
    func slowProfiles() async throws {
        try await DirectoryPeople.with { database in
            // The search calls translate() for each profile, and finds this one before the server's own.
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
