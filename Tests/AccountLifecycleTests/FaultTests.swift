import AccountLifecycle
import Foundation
import Logging
import Postgres
import Sandbox
import SignInWithApple
import Sealing
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3))) struct FaultTests {
    // MARK: Rows

    @Test func aBlockingForeignKeyIsNamedBeforeAnythingIsTouched() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.orders (id int, buyer uuid constraint orders_buyer_fkey references auth.users)"
            )
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.orders select g, \(person.id) from generate_series(1, 3) as g")
            let request = try await stage.request(person)
            let before = try await stage.count("select from storage.objects")
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let blocker = try #require(try await stage.situation(request)?.blockers?.first)
            #expect(blocker.table == "public.orders")
            #expect(blocker.name == "orders_buyer_fkey")
            #expect(blocker.rows == 3)
            #expect(try await stage.count("select from storage.objects") == before)
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            try await stage.sql("delete from public.orders")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// What goes further around a cycle, or of one partition alone, no count of ours reaches: only the delete meets it.
    @Test(arguments: [
        (
            "attachments_comment_fkey",
            [
                """
                create table public.comments (
                    id int primary key,
                    author uuid references auth.users on delete cascade,
                    parent int references public.comments on delete cascade
                )
                """,
                "create table public.attachments (comment int references public.comments)",
                "insert into public.comments values (1, '{anna}', null), (2, '{bob}', 1)",
                "insert into public.attachments values (2)",
            ]
        ),
        (
            "notes_event_fkey",
            [
                """
                create table public.events (id int, author uuid references auth.users on delete cascade)
                partition by range (id)
                """,
                "create table public.events_1 partition of public.events (primary key (id)) for values from (0) to (9)",
                "create table public.notes (event int references public.events_1)",
                "insert into public.events values (1, '{anna}')",
                "insert into public.notes values (1)",
            ]
        ),
    ])
    func whatOnlyTheDeleteMeetsIsFoundBeforehand(_ constraint: String, _ statements: [String]) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("bob")
            for statement in statements {
                let filled = statement.replacingOccurrences(of: "{anna}", with: person.text)
                    .replacingOccurrences(of: "{bob}", with: other.text)
                try await stage.sql(Statement(unsafeSQL: filled))
            }
            let objects = try await stage.count("select from storage.objects")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.blockers?.first?.name == constraint)
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await stage.count("select from storage.objects") == objects)
        }
    }

    /// A trigger or a rule of one partition alone is on the way, too.
    @Test(arguments: [
        "create trigger keep before delete on public.events_1 for each row execute function public.keep()",
        "create rule keep as on delete to public.events do also select public.say_kept()",
    ])
    func whatRunsWhereRowsGoIsAsked(_ keeper: String) async throws {
        try await Stage.with { stage in
            for statement in [
                """
                create table public.events (id int, author uuid references auth.users on delete cascade)
                partition by range (id)
                """,
                "create table public.events_1 partition of public.events for values from (0) to (9)",
                """
                create function public.keep() returns trigger language plpgsql as
                $$ begin raise exception 'events are kept'; end $$
                """,
                """
                create function public.say_kept() returns void language plpgsql as
                $$ begin raise exception 'events are kept'; end $$
                """,
                keeper,
            ] { try await stage.sql(Statement(unsafeSQL: statement)) }
            let person = try await stage.signUp()
            try await stage.sql("insert into public.events values (1, \(person.id))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .refusingTrigger)
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
        }
    }

    @Test func aKeyThatBeginsToBlockInTheMiddleIsMetByTheSecondLook() async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.orders (id int, buyer uuid references auth.users)")
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let once = Counter(1)
            try await stage.drive(request) { point in
                guard point == .before(.deleteRows), once.take() else { return }
                try await stage.sql("insert into public.orders values (1, \(person.id))")
            }
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.code == .blockingRows)
            try await stage.sql("delete from public.orders")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func aTriggerThatRefusesIsAskedBeforeAnythingIsTouched() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.posts (id int, author uuid references auth.users on delete cascade)"
            )
            try await stage.sql(
                """
                create function public.keep() returns trigger language plpgsql as
                $$ begin raise exception 'posts are kept' using errcode = 'P0001'; end $$
                """
            )
            try await stage.sql(
                "create trigger keep_posts before delete on public.posts for each row execute function public.keep()"
            )
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.posts values (1, \(person.id))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let situation = try #require(try await stage.situation(request))
            #expect(situation.code == .refusingTrigger)
            #expect(situation.blockers?.first?.name == "keep_posts")
            #expect(situation.blockers?.first?.detail == "SQLSTATE P0001")
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("drop trigger keep_posts on public.posts")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// Rows that stay without their account: what refuses that is met before anybody is locked out.
    @Test func whatRefusesToLoseItsKeyIsFoundBeforehand() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.invoices (
                    id int,
                    buyer uuid references auth.users on delete set null,
                    guest text,
                    constraint somebody_bought check (buyer is not null or guest is not null)
                )
                """
            )
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.invoices values (1, \(person.id))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            let situation = try #require(try await stage.situation(request))
            #expect(situation.code == .blockingRows)
            #expect(situation.blockers?.first?.table == "public.invoices")
            #expect(situation.blockers?.first?.name == "somebody_bought")
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)

            try await stage.sql("alter table public.invoices drop constraint somebody_bought")
            try await stage.sql(
                """
                create function public.keep() returns trigger language plpgsql as
                $$ begin raise exception 'posted invoices do not change'; end $$
                """
            )
            try await stage.sql(
                "create trigger keep_invoices before update on public.invoices for each row execute function public.keep()"
            )
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .refusingTrigger)
            #expect(try await stage.situation(request)?.blockers?.first?.name == "keep_invoices")
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("drop trigger keep_invoices on public.invoices")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.invoices where buyer is null") == 1)
        }
    }

    /// As tenants' tables have it: the tenant is a part of the key, and stays.
    @Test func aKeyOfWhichOnlyAPartIsSetToNullRefusesNothing() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.members (
                    tenant int, member uuid references auth.users on delete cascade, primary key (tenant, member)
                )
                """
            )
            try await stage.sql(
                """
                create table public.notes (
                    tenant int not null,
                    author uuid,
                    foreign key (tenant, author) references public.members on delete set null (author)
                )
                """
            )
            let person = try await stage.signUp()
            try await stage.sql("insert into public.members values (1, \(person.id))")
            try await stage.sql("insert into public.notes values (1, \(person.id))")
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.notes where tenant = 1 and author is null") == 1)
        }
    }

    @Test(arguments: ["cascade", "set null"]) func aTableThatCannotBePublishedIsNamed(_ rule: String) async throws {
        try await Stage.with { stage in
            try await stage.sql(
                Statement(
                    unsafeSQL: "create table public.posts (id int, author uuid references auth.users on delete \(rule))"
                )
            )
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.posts values (1, \(person.id))")
            try await stage.sql("create publication everything for all tables")
            let request = try await stage.request(person)
            try await stage.drive(request)
            let situation = try #require(try await stage.situation(request))
            #expect(situation.code == .unpublishable)
            #expect(situation.blockers?.map(\.table) == ["public.posts"])
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("alter table public.posts replica identity full")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func aTriggerThatSwallowsTheDeleteRefusesToo() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create function public.swallow() returns trigger language plpgsql as $$ begin return null; end $$
                """
            )
            try await stage.sql(
                "create trigger swallow before delete on auth.users for each row execute function public.swallow()"
            )
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .refusingTrigger)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
        }
    }

    /// What it does there no rollback takes back: the picture would be gone, and the account might stay.
    @Test func aTriggerThatReachesOutsideIsNotAskedBeforehand() async throws {
        try await Stage.with { stage in
            try await stage.sql("create extension dblink schema extensions")
            try await stage.sql("create table public.outside (told_at timestamptz default now())")
            try await stage.sql(
                """
                create function public.tell() returns void language plpgsql security definer as $$
                begin
                    perform extensions.dblink_exec(
                        format(
                            'host=%s port=%s dbname=%s user=%s',
                            split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'),
                            current_database(), current_user
                        ),
                        'insert into public.outside default values'
                    );
                end $$
                """
            )
            try await stage.sql(
                """
                create function public.say_goodbye() returns trigger language plpgsql as
                $$ begin perform public.tell(); return old; end $$
                """
            )
            try await stage.sql(
                "create trigger goodbye before delete on public.profiles for each row execute function public.say_goodbye()"
            )
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let told = Counter()
            let pause = try await stage.drive(request) { point in
                guard point == .after(.preflight) else { return }
                for _ in 0..<(try await stage.count("select from public.outside")) { told.add() }
            }
            #expect(pause == .ended(.verified))
            #expect(told.value == 0)
            #expect(try await stage.count("select from public.outside") == 1)
            let untried = try await stage.value(
                "select (facts -> 'untried')::text from accountctl.deletion_steps where step = 'preflight'",
                as: String?.self
            )
            #expect(untried == #"["public.profiles.goodbye"]"#)
        }
    }

    /// An outbox is the usual way: the trigger on the profile only writes there, and what is written there is sent.
    @Test func noTriggerIsAskedThatReachesOutsideByWayOfAnotherTable() async throws {
        try await Stage.with { stage in
            try await stage.sql("create extension dblink schema extensions")
            try await stage.sql("create table public.outbox (event text)")
            for (name, body) in [
                ("tell", "perform extensions.dblink_connect('host=/nowhere'); return new;"),
                ("say_goodbye", "insert into public.outbox values ('gone'); return old;"),
                ("count_down", "return old;"),
            ] {
                try await stage.sql(
                    """
                    create function public.\(identifier: name)() returns trigger language plpgsql as
                    \(unsafeSQL: "$$ begin \(body) end $$")
                    """
                )
            }
            try await stage.sql(
                "create trigger tell after insert on public.outbox for each row execute function public.tell()"
            )
            for name in ["say_goodbye", "count_down"] {
                try await stage.sql(
                    """
                    create trigger \(identifier: name) after delete on public.profiles
                    for each row execute function public.\(identifier: name)()
                    """
                )
            }
            let reaching = try await reachingFromProfiles(stage)
            #expect(reaching == ["say_goodbye"])
            try await stage.sql("alter table public.outbox disable trigger tell")
            let left = try await reachingFromProfiles(stage)
            #expect(left.isEmpty)
        }
    }

    private func reachingFromProfiles(_ stage: Stage) async throws -> [String] {
        try await stage.pool.withConnection { connection in
            try DeletionCatalog.read(on: connection).triggers
                .filter { $0.reachesOutside && $0.table == TableName("public", "profiles") }
                .map(\.name)
        }
    }

    /// Whoever wants triggers asked is told that none was, since something else stands in the way.
    @Test func aPlanThatIsHeldUpNamesTheTriggersThatWereNotAsked() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await stage.sql("create table public.bills (user_id uuid not null references auth.users)")
            try await stage.sql("insert into public.bills values (\(person.id))")
            try await stage.sql(
                "create function public.wave() returns trigger language plpgsql as $$ begin return old; end $$"
            )
            try await stage.sql(
                "create trigger wave before delete on auth.users for each row execute function public.wave()"
            )
            for asksTriggers in [true, false] {
                let preview = try await stage.pool.withConnection { connection in
                    try await DeletionPreview.read(
                        person.id,
                        policy: Stage.swift,
                        asksTriggers: asksTriggers,
                        on: connection
                    )
                }
                #expect(preview?.blockers.map(\.table) == ["public.bills"])
                #expect(preview?.untried == (asksTriggers ? preview?.triggers : []))
                #expect(preview?.triggers.map(\.name).contains("wave") == true)
            }
        }
    }

    /// A number of a sequence is never given back: it tells who was asked.
    @Test func triggersAreAskedWhenNothingElseHoldsUp() async throws {
        try await Stage.with { stage in
            try await stage.sql("create sequence public.asked")
            try await stage.sql(
                """
                create function public.count_asked() returns trigger language plpgsql security definer as
                $$ begin perform nextval('public.asked'); return old; end $$
                """
            )
            try await stage.sql(
                "create trigger asked before delete on auth.users for each row execute function public.count_asked()"
            )
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let id = stage.sandbox.faults.set(.storageBusy)
            guard case .failed = try await stage.drive(request) else { throw Unexpected("went on without Storage") }
            #expect(try await stage.value("select is_called from public.asked", as: Bool.self) == false)
            stage.sandbox.faults.clear(id)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.value("select last_value from public.asked", as: Int.self) == 2)
        }
    }

    @Test func anUnrelatedProfilesTableIsLeftAlone() async throws {
        try await Stage.with { stage in
            try await stage.sql("drop table public.profiles cascade")
            try await stage.sql("create table public.profiles (id int primary key, avatar_url text, owner uuid)")
            try await stage.sql("insert into public.profiles values (1, 'x', null)")
            let person = try await stage.signUpWithoutProfile()
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.profiles") == 1)
        }
    }

    @Test func manyRowsGoInBatches() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.posts (id int, author uuid references auth.users on delete cascade)"
            )
            try await stage.sql("create index on public.posts (author)")
            try await stage.sql("grant select, delete on public.posts to postgres")
            let person = try await stage.signUp()
            let other = try await stage.signUp("berta")
            try await stage.sql("insert into public.posts select g, \(person.id) from generate_series(1, 2500) as g")
            try await stage.sql("insert into public.posts select g, \(other.id) from generate_series(1, 100) as g")
            try await stage.sql("analyze public.posts")
            var policy = Stage.swift
            policy.batchRows = 1000
            let request = try await stage.request(person)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.count("select from public.posts") == 100)
            let batched = try await stage.value(
                "select (facts -> 'counts' ->> 'batched_rows')::int from accountctl.deletion_steps where step = 'delete_rows'",
                as: Int.self
            )
            #expect(batched == 2500)
        }
    }

    /// Only their partitions have statistics.
    @Test func manyRowsOfAPartitionedTableGoInBatches() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.posts (id int, author uuid references auth.users on delete cascade)
                partition by range (id)
                """
            )
            try await stage.sql("create table public.early partition of public.posts for values from (0) to (1000)")
            try await stage.sql("create table public.late partition of public.posts default")
            try await stage.sql("create index on public.posts (author)")
            try await stage.sql("grant select, delete on public.posts to postgres")
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts select g, \(person.id) from generate_series(1, 2500) as g")
            try await stage.sql("analyze public.early")
            try await stage.sql("analyze public.late")
            var policy = Stage.swift
            policy.batchRows = 1000
            let request = try await stage.request(person)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            let batched = try await stage.value(
                "select (facts -> 'counts' ->> 'batched_rows')::int from accountctl.deletion_steps where step = 'delete_rows'",
                as: Int.self
            )
            #expect(batched == 2500)
        }
    }

    /// No key reaches the rows of a table that inherits from its own; the search finds them.
    @Test(arguments: [3, 2500]) func whatInheritsFromATableIsLeftWhereItIs(_ rows: Int) async throws {
        try await Stage.with { stage in
            for statement in [
                "create table public.posts (id int, author uuid references auth.users on delete cascade)",
                "create index on public.posts (author)",
                "create table public.old_posts () inherits (public.posts)",
                "create table public.orders (buyer uuid references auth.users)",
                "create table public.old_orders () inherits (public.orders)",
                "grant select, delete on all tables in schema public to postgres",
            ] { try await stage.sql(Statement(unsafeSQL: statement)) }
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts select g, \(person.id) from generate_series(1, \(rows)) as g")
            try await stage.sql("insert into public.old_posts select g, \(person.id) from generate_series(1, 3) as g")
            try await stage.sql("insert into public.old_orders values (\(person.id))")
            try await stage.sql("analyze public.posts")
            var policy = Stage.swift
            policy.batchRows = 1000
            let request = try await stage.request(person)
            try await stage.drive(request, policy)
            let findings = try await stage.situation(request)?.findings
            #expect(findings?.map(\.column) == ["public.old_orders.buyer", "public.old_posts.author"])
            #expect(findings?.map(\.count) == [1, 3])
        }
    }

    /// Keys that cascade without an index take as long as their tables are large.
    @Test func aDeleteMayTakeLongerThanStatementsUsuallyMay() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.posts (id int, author uuid references auth.users on delete cascade)"
            )
            try await stage.sql(
                """
                create function public.take_time() returns trigger language plpgsql as
                $$ begin perform pg_sleep(3); return old; end $$
                """
            )
            try await stage.sql(
                "create trigger take_time before delete on public.posts for each row execute function public.take_time()"
            )
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts values (1, \(person.id))")
            let request = try await stage.request(person)
            var hasty = PoolConfiguration(connection: ConnectionConfiguration(conninfo: stage.database.conninfo))
            hasty.connection.statementDeadline = .seconds(2)
            // Compiling the look at the catalog takes about as long on a busy machine.
            hasty.connection.sessionSettings = ["jit": "off"]
            let logger = Logger.silent
            try await Pool.withPool(hasty, logger: logger) { pool in
                let pause = try await DeletionDriver(stage.services(pool: pool)).drive(request)
                #expect(pause == .ended(.verified))
            }
        }
    }

    @Test func whatTheDatabaseRefusesIsToldAndTriedAgain() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.sql("alter table auth.flow_state rename to away")
            let told = Situation(.failing, detail: "lock_out: SQLSTATE 42P01")
            #expect(try await stage.drive(request) == .failed(after: 30, told))
            #expect(try await stage.drive(request) == .failed(after: 60, told))
            #expect(try await stage.situation(request) == told)
            try await stage.sql("alter table auth.away rename to flow_state")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// The lock-out is as slow to begin there, and would find none that is fresh.
    @Test func whereThePreflightTookLongItHoldsLong() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let once = Counter(1)
            let pause = try await stage.drive(request) { point in
                guard point == .after(.preflight), once.take() else { return }
                try await stage.sql(
                    """
                    update accountctl.deletion_steps
                    set started_at = started_at - interval '10 minutes', finished_at = finished_at - interval '5 minutes'
                    """
                )
            }
            #expect(pause == .ended(.verified))
            let runs: Statement = "select runs::int from accountctl.deletion_steps where step = 'preflight'"
            #expect(try await stage.value(runs, as: Int.self) == 1)
        }
    }

    @Test func betweenTwoBatchesOthersHaveTheConnection() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.posts (id int, author uuid references auth.users on delete cascade)"
            )
            try await stage.sql("create index on public.posts (author)")
            try await stage.sql("grant select, delete on public.posts to postgres")
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts select g, \(person.id) from generate_series(1, 250) as g")
            try await stage.sql("analyze public.posts")
            let request = try await stage.request(person)
            let pauses = Counter()
            // Of three connections the deletion has one.
            try await stage.pool.withConnection { _ in
                try await stage.pool.withConnection { _ in
                    var policy = Stage.swift
                    policy.batchRows = 100
                    let pause = try await stage.drive(request, policy) { point in
                        guard point == .between(.deleteRows) else { return }
                        try await stage.pool.withConnection { _ = try $0.one("select 1", as: Int.self) }
                        pauses.add()
                    }
                    #expect(pause == .ended(.verified))
                }
            }
            #expect(pauses.value == 3)
        }
    }

    // MARK: Accounts

    @Test func aUserDeletedMeanwhileIsStillCleanedUp() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.deleteRows, request) == "already_gone")
            // Its credential went with it, unrevoked: nobody knows any more that there was one.
            #expect(try await stage.outcome(.revokeApple, request) == "grant_unknown")
            #expect(try await stage.traces(of: person) == "")
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }

    @Test func aUserDeletedAfterTheLockOutTookWhatItHeldAlong() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let end = try await stage.drive(request) { point in
                guard point == .after(.lockOut) else { return }
                try await stage.sql("delete from auth.users where id = \(person.id)")
            }
            #expect(end == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "grant_unknown")
        }
    }

    @Test func anAccountMadeAfterTheRequestIsNotTheOneMeant() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.sql(
                "update auth.users set created_at = now() + interval '1 minute' where id = \(person.id)"
            )
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .otherAccount)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
        }
    }

    @Test func whoSignedUpAgainIsLeftAlone() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let again = Counter(1)
            let returned = Returned()
            let pause = try await stage.drive(request) { point in
                guard point == .after(.deleteRows), again.take() else { return }
                // The same address and the same Apple sub, under another id.
                returned.person = try await stage.signUp("anna", email: person.email, sub: person.sub)
            }
            #expect(pause == .ended(.verified))
            let new = try #require(returned.person)
            #expect(new.sub == person.sub)
            #expect(try await stage.count("select from auth.users where id = \(new.id)") == 1)
            #expect(try await stage.count("select from public.profiles where id = \(new.id)") == 1)
        }
    }

    @Test func anUnknownUserCannotBeAskedFor() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let opening = try await stage.pool.withConnection { try await desk.request(UUID(), reason: "x", on: $0) }
            #expect(opening == .unknownUser)
            let stranger = Person(id: UUID(), email: "x@example.com", sub: nil)
            let state = await sqlState { try await stage.call(stranger, "select public.request_account_deletion()") }
            #expect(state == "PT410")
        }
    }

    // MARK: Objects

    /// Whoever uploads may write much into a row, and Storage answers a delete with the rows.
    @Test func objectsWithLongMetadataGoAtOnce() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id, user_metadata)
                select 'avatars', n::text, \(person.id), \(person.text), jsonb_build_object('note', repeat('x', 3000))
                from generate_series(1, 600) as n
                """
            )
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from storage.objects") == 0)
        }
    }

    @Test func aHostileProfileTakesNobodysFiles() async throws {
        try await Stage.with { stage in
            let victim = try await stage.signUp("victim")
            let owned = "\(UUID().uuidString).jpeg"
            #expect(try await stage.upload(owned, by: victim))
            var attackers: [Person] = []
            for number in 0..<4 { attackers.append(try await stage.signUp("attacker\(number)")) }
            // Files nobody owns: one that two profiles name, one in the victim's folder, one that the attacker alone names.
            for key in ["shared.jpeg", "\(victim.text)/free.jpeg", "own.jpeg"] {
                #expect(try await stage.upload(key, by: nil))
            }
            try await stage.sql("update public.profiles set avatar_url = 'shared.jpeg' where id = \(victim.id)")
            let left = ["shared.jpeg", "\(victim.text)/free.jpeg", owned]
            for (index, url) in (left + ["own.jpeg"]).enumerated() {
                let person = attackers[index]
                let full = index == 2 ? "https://x.supabase.co/storage/v1/object/public/avatars/\(url)?v=1" : url
                try await stage.sql("update public.profiles set avatar_url = \(full) where id = \(person.id)")
                let request = try await stage.request(person)
                #expect(try await stage.drive(request) == .ended(.verified))
            }
            let keys = try await stage.admin.withConnection {
                try $0.query("select name from storage.objects order by name", as: String.self)
            }
            // What two name, what lies in somebody's folder and what somebody owns all stay.
            #expect(Set(keys).isSuperset(of: left))
            #expect(!keys.contains("own.jpeg"))
        }
    }

    /// Put there by the app's server, for one: it is its owner's, and the receipt tells of it.
    @Test func whatSomebodyElseOwnsInTheFolderStays() async throws {
        try await Stage.with { stage in
            let owner = try await stage.signUp("owner")
            let person = try await stage.signUp()
            for (name, owner) in [("own", person.id), ("nobodys", nil), ("theirs", owner.id)] {
                let key = "\(person.text)/\(name).png"
                #expect(try await stage.upload(key, by: nil))
                try await stage.sql(
                    "update storage.objects set owner = \(owner), owner_id = \(owner)::text where name = \(key)"
                )
            }
            // Handed over by the column that Storage documents; the deprecated one says otherwise.
            #expect(try await stage.upload("handed-over.png", by: person))
            try await stage.sql("update storage.objects set owner_id = \(owner.text) where name = 'handed-over.png'")
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let keys = try await stage.admin.withConnection {
                try $0.query("select name from storage.objects order by name collate \"C\"", as: String.self)
            }
            #expect(keys == ["\(person.text)/theirs.png", "handed-over.png"])
            let receipt = try await stage.value(
                "select document::text from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(receipt.contains("files that other accounts own") && !receipt.contains(person.text))
        }
    }

    @Test func storageThatLiesIsNotBelieved() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            for fault in [Fault.emptySuccess, .pretendedSuccess] {
                let id = stage.sandbox.faults.set(fault, for: .storageDeleteMany)
                guard case .failed(_, let situation) = try await stage.drive(request) else {
                    Issue.record("believed \(fault)")
                    return
                }
                #expect(situation.code == .storageUnusable)
                #expect(try await stage.state(request) == "running")
                #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
                stage.sandbox.faults.clear(id)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func storageThatDeletesWhatNobodyAskedForIsTold() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let id = stage.sandbox.faults.set(
                .status(200, body: #"[{"name": "stranger.jpeg"}]"#),
                for: .storageDeleteMany
            )
            guard case .failed(_, let situation) = try await stage.drive(request) else {
                Issue.record("went on")
                return
            }
            #expect(situation.detail?.contains("nobody asked for") == true, "\(situation)")
            stage.sandbox.faults.clear(id)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func storageThatIsDownHoldsUpBeforeTheLockOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            for fault in [Fault.html(), .storageBusy, .drop(), .status(500)] {
                let id = stage.sandbox.faults.set(fault)
                guard case .failed(let delay, let situation) = try await stage.drive(request) else {
                    Issue.record("went on with \(fault)")
                    return
                }
                #expect(delay >= 30)
                #expect(situation.code == .storageUnusable)
                #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
                stage.sandbox.faults.clear(id)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func storageIsLeftAloneForAsLongAsItAsks() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let busy = #"{"statusCode":"503","error":"Service Unavailable","message":"slow","code":"SlowDown"}"#
            for fault in [Fault.html(), .status(503, body: busy, retryAfter: "900")] {
                let id = stage.sandbox.faults.set(fault)
                guard case .failed(let delay, let situation) = try await stage.drive(request) else {
                    Issue.record("went on with \(fault)")
                    return
                }
                if case .status = fault.answer { #expect(delay == 900) } else { #expect(delay < 900) }
                #expect(situation.code == .storageUnusable)
                stage.sandbox.faults.clear(id)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func aBucketNobodyDecidedAboutBlocks() async throws {
        try await Stage.with { stage in
            try await stage.sql("insert into storage.buckets (id, name) values ('invoices', 'invoices')")
            let person = try await stage.signUp()
            try await stage.sql(
                "insert into storage.objects (bucket_id, name, owner_id) values ('invoices', '1.pdf', \(person.text))"
            )
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .undecidedBucket)
            #expect(try await stage.situation(request)?.subject == "invoices")
            var policy = Stage.swift
            policy.keptBuckets = ["invoices"]
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.count("select from storage.objects") == 1)
        }
    }

    /// Their rows are not searched, and what is the account's there stays.
    @Test func theReceiptNamesTheBucketsThatAreKept() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for bucket in ["invoices", "letters"] {
                try await stage.sql("insert into storage.buckets (id, name) values (\(bucket), \(bucket))")
            }
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner_id)
                values ('invoices', '1.pdf', \(person.text)), ('invoices', \(person.text + "/2.pdf"), null),
                       ('invoices', '3.pdf', null)
                """
            )
            var policy = Stage.swift
            policy.keptBuckets = ["invoices", "letters"]
            let request = try await stage.request(person)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            let document = try await stage.value(
                "select document from accountctl.deletion_receipts where request_id = \(request)",
                as: JSON<ReceiptDocument>.self
            ).value
            for step in document.steps where ["verify", "settle"].contains(step.step) {
                #expect(step.facts.kept == ["invoices": 2, "letters": 0], "\(step.step)")
            }
            #expect(document.outOfScope.contains { $0.contains("bucket invoices") && $0.contains("2 objects") })
            #expect(document.outOfScope.contains { $0.contains("bucket letters") && $0.contains("0 objects") })
        }
    }

    /// A file of nobody, in every way in which Storage writes its address.
    @Test(arguments: [
        "my%20face.png", "https://x.supabase.co/storage/v1/object/public/avatars/my%20face.png?v=1", "my face.png",
    ])
    func theFileOfAnEscapedAddressIsThePersons(_ url: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for key in ["my%20face.png", "other.png"] { #expect(try await stage.upload(key, by: nil)) }
            #expect(try await stage.count("select from storage.objects where name = 'my face.png'") == 1)
            try await stage.sql("update public.profiles set avatar_url = \(url) where id = \(person.id)")
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let keys = try await stage.admin.withConnection {
                try $0.query("select name from storage.objects", as: String.self)
            }
            #expect(keys == ["other.png"])
        }
    }

    // MARK: Apple

    @Test func onlyWhoHoldsACredentialWaitsForAppleAndNotForEver() async throws {
        try await Stage.with { stage in
            let holder = try await stage.fullAccount()
            let other = try await stage.signUp("berta", apple: false)
            for fault in [Fault.appleError("invalid_client"), .html(), .drop(), .status(503)] {
                let id = stage.sandbox.faults.set(fault, for: .appleToken)
                let request = try await stage.request(holder)
                try await stage.drive(request)
                #expect(try await stage.state(request) == "waiting_for_apple", "with \(fault)")
                let code = try await stage.situation(request)?.code
                #expect(code == .appleMisconfigured || code == .appleUnreachable)
                #expect(try await stage.count("select from auth.sessions where user_id = \(holder.id)") == 1)
                stage.sandbox.faults.clear(id)
            }
            for endpoint in [Endpoint.appleToken, .appleRevoke] {
                stage.sandbox.faults.set(.appleError("invalid_client"), for: endpoint)
            }
            let unaffected = try await stage.request(other)
            #expect(try await stage.drive(unaffected) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, unaffected) == "not_held")
            // A week later the run goes on; the credential is kept for later, without the account.
            let request = try await stage.request(holder)
            try await stage.sql(
                "update accountctl.deletion_requests set apple_waiting_since = now() - interval '8 days'"
            )
            try await stage.driveThroughFailures(request)
            #expect(try await stage.state(request) == "verified")
            #expect(try await stage.outcome(.revokeApple, request) == "pending")
            #expect(try await stage.traces(of: holder) == "")
            #expect(try await stage.count("select from accountctl.pending_revocations where state = 'waiting'") == 1)
            stage.sandbox.faults.clearAll()
            // What closes the breaker is its self-test, which the next preflight brings about.
            try await stage.testApple()
            try await stage.sql("update accountctl.pending_revocations set last_tried_at = null")
            let stillWaiting = try await stage.retryRevocations()
            #expect(stillWaiting == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
            let outcome = try await stage.value(
                "select apple_outcome from accountctl.deletion_requests where id = \(request)",
                as: String.self
            )
            #expect(outcome == "revoked")
        }
    }

    @Test func anOperatorMayProceedWithoutApple() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            for endpoint in [Endpoint.appleToken, .appleRevoke] {
                stage.sandbox.faults.set(.appleError("invalid_client"), for: endpoint)
            }
            try await stage.drive(request)
            #expect(try await stage.state(request) == "waiting_for_apple")
            let desk = stage.desk
            let act = try await stage.pool.withConnection { connection in
                try await desk.proceed(
                    request,
                    withoutApple: true,
                    withoutIdentifiers: false,
                    reason: "x",
                    on: connection
                )
            }
            #expect(act == .done)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "pending")
            #expect(try await stage.count("select from accountctl.operator_log where action = 'deletion.proceed'") == 1)
        }
    }

    @Test func aCodeComesAtOnceAndItsFailuresAreTold() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let expired = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            #expect(try await stage.exchange(expired, of: person, after: "6 minutes") == .settled(.expired))
            let used = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            #expect(try await stage.exchange(used, of: person) == .settled(.exchanged))
            try await stage.sql(
                "update accountctl.authorization_codes set received_at = received_at - interval '2 hours'"
            )
            #expect(try await stage.exchange(used + "x", of: person) == .settled(.refused))
            // Somebody else's code ends nobody's sign-in.
            let other = try await stage.signUp("berta")
            let foreign = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: other.sub)
            #expect(try await stage.exchange(foreign, of: person) == .settled(.wrongAccount))
            #expect(try await stage.count("select from accountctl.authorization_codes where code is not null") == 0)
            #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
        }
    }

    @Test func aCrashRightAfterAppleAnsweredIsGrantUnknown() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let request = try await stage.request(person, code: code)
            let id = try await stage.value("select max(id) from accountctl.authorization_codes", as: Int64.self)
            let crash = stage.services(probe: SimulatedCrash.once(at: .afterExchange))
            await #expect(throws: SimulatedCrash.self) { try await CodeExchange(crash).run(id) }
            #expect(try await CodeExchange(stage.services()).run(id) == .settled(.grantUnknown))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "grant_unknown")
        }
    }

    @Test func aLostAnswerIsGrantUnknownAndTheAppIsAskedForAnotherCode() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let id = stage.sandbox.faults.set(.drop(.before), for: .appleToken)
            #expect(try await stage.exchange(code, of: person) == .settled(.grantUnknown))
            stage.sandbox.faults.clear(id)
            let status = try await stage.call(person, "select public.request_account_deletion()")
            #expect(status.contains(#""wants_apple_code": true"#))
            let second = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            #expect(try await stage.exchange(second, of: person) == .settled(.exchanged))
        }
    }

    @Test func noCredentialIsAnOutcomeOfItsOwn() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "not_held")
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
        }
    }

    @Test func aCredentialWhoseIdentityMovedIsNotRevoked() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("berta", apple: false)
            try await stage.sql("update auth.identities set user_id = \(other.id) where provider_id = \(person.sub)")
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "not_revoked")
            #expect(stage.sandbox.apple.liveConsents == 1)
        }
    }

    // MARK: Keys

    @Test func aMissingSealingKeyStopsBeforeSayingDone() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            await #expect(throws: SimulatedCrash.self) {
                try await stage.drive(request, probe: SimulatedCrash.once(at: .before(.verify)))
            }
            let other = try KeyRing([SealingKey.random(id: try #require(KeyID("other")))])
            let strange = stage.services(vault: IdentifierVault(keys: other, hashKey: stage.vault.hashKey))
            _ = try await DeletionDriver(strange).drive(request)
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            #expect(try await stage.situation(request)?.subject == "test1")
            // Lost for good: the end says so.
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.proceed(
                    request,
                    withoutApple: false,
                    withoutIdentifiers: true,
                    reason: "lost",
                    on: connection
                )
            }
            #expect(try await DeletionDriver(strange).drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "not_verifiable")
        }
    }

    @Test func aRequestGoesOnWhenItsKeyIsConfiguredLater() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.verify)))
            let file = Mutex<KeyRing?>(nil)
            let other = try KeyRing([SealingKey.random(id: try #require(KeyID("other")))])
                .following(every: .zero) { file.withLock(\.self) }
            let running = DeletionDriver(
                stage.services(vault: IdentifierVault(keys: other, hashKey: stage.vault.hashKey))
            )
            _ = try await running.drive(request)
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            file.withLock { $0 = stage.vault.keys }
            #expect(try await running.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "ok")
        }
    }
}

/// What a probe hands back to its test.
final class Returned: Sendable {
    private let stored = Mutex<Person?>(nil)

    var person: Person? {
        get { stored.withLock(\.self) }
        set { stored.withLock { $0 = newValue } }
    }
}

extension Stage {
    /// Stores a code as the app does and exchanges it.
    func exchange(
        _ code: String,
        of person: Person,
        after age: String = "0 seconds",
        by apple: AppleClients? = nil
    ) async throws -> CodeExchange.Outcome {
        _ = try await call(person, "select public.submit_apple_authorization_code(\(code), \(Self.clientID))")
        let id = try await value("select max(id) from accountctl.authorization_codes", as: Int64.self)
        try await sql(
            "update accountctl.authorization_codes set expires_at = expires_at - \(age)::interval where id = \(id)"
        )
        return try await CodeExchange(services(apple: apple)).run(id)
    }

    /// Drives a request on through failing attempts, as its job would in time.
    func driveThroughFailures(_ request: UUID) async throws {
        for _ in 0..<20 {
            guard case .failed = try await drive(request) else { return }
        }
    }

    func retryRevocations() async throws -> Int {
        try await PendingRevocation.retry(with: services())
    }

    func signUpWithoutProfile() async throws -> Person {
        try await sql("drop trigger if exists on_auth_user_created on auth.users")
        return try await signUp()
    }
}
