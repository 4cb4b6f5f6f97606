import Migrations
import Testing

/// A database that exists before the migrations: fixtures of `sql/tests/fixtures`, in order, and then SQL.
struct AdoptionScenario: Sendable, CustomTestStringConvertible {
    let name: String
    var fixtures: [String] = []
    /// SQL that runs as `postgres` after the fixtures.
    var sql = ""
    /// SQL that runs as the superuser after that.
    var adminSQL = ""
    var visibility: ProfilesVisibility?

    var testDescription: String { name }

    /// The id of the fixtures' user Anna.
    static let anna = "0a000000-0000-4000-8000-00000000000a"
    /// The id of the fixtures' user Bert.
    static let bert = "0b000000-0000-4000-8000-00000000000b"

    static let starters: [AdoptionScenario] = [
        AdoptionScenario(
            name: "the starter of the documentation",
            fixtures: ["starter_documentation", "starter_data"]
        ),
        AdoptionScenario(
            name: "the starter of the Swift example",
            fixtures: ["starter_swift_example", "starter_data"]
        ),
    ]

    static let own = AdoptionScenario(name: "a table and a bucket of the app's own", fixtures: ["own_profiles"])

    static let withheldColumns = AdoptionScenario(
        name: "the starter with a column that its owner may not write",
        fixtures: ["starter_documentation", "starter_data"],
        sql: """
            alter table public.profiles add column is_admin boolean not null default false;
            revoke insert, update on public.profiles from authenticated;
            grant update (username, full_name, avatar_url, website, updated_at) on public.profiles to authenticated;
            """
    )

    /// An app whose sign-up uses the local part of the address as the username, even if another user already has it.
    static let namesAtSignUp = AdoptionScenario(
        name: "no rules on usernames, which the app's own sign-up writes",
        fixtures: ["starter_documentation"],
        sql: """
            alter table public.profiles drop constraint username_length, drop constraint profiles_username_key;
            create or replace function public.handle_new_user() returns trigger language plpgsql security definer as $$
            begin
                insert into public.profiles (id, username) values (new.id, split_part(new.email, '@', 1));
                return new;
            end
            $$;
            """
    )

    static let all: [AdoptionScenario] =
        [AdoptionScenario(name: "nothing there")]
        + starters
        + [
            own,
            AdoptionScenario(name: "nothing there, everybody reads", visibility: .everyone),
            AdoptionScenario(
                name: "the starter, own asked",
                fixtures: ["starter_documentation", "starter_data"],
                visibility: .own
            ),
            AdoptionScenario(
                name: "the Swift starter, own asked",
                fixtures: ["starter_swift_example", "starter_data"],
                visibility: .own
            ),
            AdoptionScenario(
                name: "the starter, everyone asked",
                fixtures: ["starter_documentation", "starter_data"],
                visibility: .everyone
            ),
            AdoptionScenario(
                name: "short and double usernames",
                fixtures: ["starter_documentation", "short_usernames"]
            ),
            AdoptionScenario(
                name: "no rules on usernames, and none broken",
                fixtures: ["starter_documentation", "starter_data"],
                sql: """
                    alter table public.profiles drop constraint username_length;
                    alter table public.profiles drop constraint profiles_username_key;
                    """
            ),
            namesAtSignUp,
            AdoptionScenario(
                name: "names of the starter's rules for others of the app's own",
                fixtures: ["starter_documentation", "starter_data"],
                sql: """
                    alter table public.profiles drop constraint username_length, drop constraint profiles_username_key;
                    create unique index profiles_username_key on public.profiles (lower(username));
                    alter table public.profiles add constraint username_length check (char_length(website) < 300);
                    """
            ),
            AdoptionScenario(
                name: "the starter's columns in a partitioned table",
                sql: """
                    create table public.profiles (
                        id uuid primary key references auth.users,
                        updated_at timestamptz,
                        username text,
                        full_name text,
                        avatar_url text,
                        website text
                    ) partition by hash (id);
                    create table public.profiles_0 partition of public.profiles
                        for values with (modulus 1, remainder 0);
                    alter table public.profiles enable row level security;
                    """
            ),
            AdoptionScenario(
                name: "the app's own sign-up",
                fixtures: ["starter_swift_example", "own_sign_up", "starter_data"]
            ),
            AdoptionScenario(
                name: "a second sign-up trigger beside the starter's",
                fixtures: ["starter_documentation"],
                sql: """
                    create function public.welcome() returns trigger language plpgsql as 'begin return new; end';
                    create trigger a_welcome after insert on auth.users for each row execute function public.welcome();
                    """
            ),
            AdoptionScenario(
                name: "a sign-up trigger and no profiles",
                sql: """
                    create function public.welcome() returns trigger language plpgsql as 'begin return new; end';
                    create trigger "Welcome!" after insert on auth.users
                        for each row execute function public.welcome();
                    """
            ),
            AdoptionScenario(
                name: "a sign-up trigger for replication only and no profiles",
                sql: "create function public.welcome() returns trigger language plpgsql as 'begin return new; end'",
                adminSQL: """
                    create trigger welcome after insert on auth.users for each row execute function public.welcome();
                    alter table auth.users enable replica trigger welcome;
                    """
            ),
            AdoptionScenario(
                name: "a check before sign-up and no profiles",
                sql: """
                    create function public.check_mail() returns trigger language plpgsql as 'begin return new; end';
                    create trigger check_mail before insert on auth.users
                        for each row execute function public.check_mail();
                    """
            ),
            AdoptionScenario(
                name: "the function's name taken and no profiles",
                sql:
                    "create function public.handle_new_user() returns trigger language plpgsql as 'begin return new; end'"
            ),
            AdoptionScenario(
                name: "the starter without its trigger",
                fixtures: ["starter_documentation"],
                adminSQL: "drop trigger on_auth_user_created on auth.users"
            ),
            AdoptionScenario(
                name: "the starter with row-level security off",
                fixtures: ["starter_documentation", "starter_data"],
                sql: "alter table public.profiles disable row level security"
            ),
            AdoptionScenario(
                name: "the starter with policies of the app's own",
                fixtures: ["starter_documentation", "starter_data"],
                sql: """
                    alter policy "Users can update own profile." on public.profiles to authenticated;
                    alter policy "Users can insert their own profile." on public.profiles rename to "Insert yours";
                    """
            ),
            AdoptionScenario(
                name: "the starter with a key that cascades",
                fixtures: ["starter_documentation", "starter_data"],
                sql: """
                    alter table public.profiles drop constraint profiles_id_fkey;
                    alter table public.profiles add constraint "the Key" foreign key (id) references auth.users
                        on delete cascade;
                    """
            ),
            AdoptionScenario(
                name: "the starter without grants",
                fixtures: ["starter_documentation"],
                sql: "revoke all on public.profiles from authenticated"
            ),
            withheldColumns,
            AdoptionScenario(
                name: "the starter with a column that nobody may read",
                fixtures: ["starter_documentation", "starter_data"],
                sql: """
                    alter table public.profiles add column phone text;
                    revoke select on public.profiles from anon, authenticated;
                    grant select (id, username, avatar_url) on public.profiles to anon, authenticated;
                    """
            ),
            AdoptionScenario(
                name: "the starter for the server alone",
                fixtures: ["starter_documentation", "starter_data"],
                sql: """
                    alter table public.profiles disable row level security;
                    revoke all on public.profiles from anon, authenticated;
                    """
            ),
            AdoptionScenario(
                name: "the starter with a column of another type",
                fixtures: ["starter_documentation"],
                sql: "alter table public.profiles alter column website type varchar(100)"
            ),
            AdoptionScenario(
                name: "a table without a key to accounts",
                sql: "create table public.profiles (id uuid primary key, username text); "
                    + "alter table public.profiles enable row level security"
            ),
            AdoptionScenario(name: "a view", sql: "create view public.profiles as select 1 as id"),
            AdoptionScenario(
                name: "a table that belongs to somebody else",
                adminSQL: "create table public.profiles (id uuid primary key references auth.users, username text)"
            ),
            AdoptionScenario(
                name: "a partitioned table",
                sql: """
                    create table public.profiles (id uuid primary key references auth.users, name text)
                        partition by hash (id);
                    create table public.profiles_0 partition of public.profiles
                        for values with (modulus 1, remainder 0);
                    alter table public.profiles enable row level security;
                    """
            ),
            AdoptionScenario(
                name: "a bucket without policies",
                sql: "insert into storage.buckets (id, name, public) values ('avatars', 'avatars', true)"
            ),
        ]
}
