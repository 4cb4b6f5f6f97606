import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// What stands in the way of a delete is named before anything is touched.
@Suite(.timeLimit(.minutes(3))) struct BlockerTests {
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

    /// A row may be kept by somebody for longer than is waited; of the account nothing is done by that.
    @Test func aTrialThatFailedIsNoBeginning() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.fullAccount())
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            for (state, code) in [("55P03", .failing), ("P0001", .refusingTrigger)] as [(String, Situation.Code)] {
                try await stage.refuseUntried(state)
                _ = try await stage.drive(request)
                #expect(try await stage.situation(request)?.code == code)
            }
            let act = try await stage.pool.withConnection { connection in
                try await stage.desk.cancel(request, reason: "mistake", on: connection)
            }
            #expect(act == .done)
        }
    }

    /// Whether Apple was asked decides, not how often the step was begun.
    @Test(arguments: [(DeletionPoint.begun(.revokeApple), false), (.middle(.revokeApple), true)])
    func aTrialThatWasInterruptedIsNoBeginning(_ crash: DeletionPoint, _ hasAsked: Bool) async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.fullAccount())
            try await stage.driveToCrash(request, SimulatedCrash.once(at: crash))
            try await stage.refuseUntried("P0001")
            _ = try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .refusingTrigger)
            let act = try await stage.pool.withConnection { connection in
                try await stage.desk.cancel(request, reason: "mistake", on: connection)
            }
            #expect(act == (hasAsked ? .refused(.begun(step: .revokeApple)) : .done))
        }
    }

    /// The account works while the preflight asks, which is short for that; locked out, it can wait for the answer, but
    /// for minutes, in which nobody can stop the request.
    @Test func whatTheTrialCouldNotTellInTimeIsAskedBeforeAppleIs() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create function public.is_sold(buyer uuid) returns boolean language plpgsql as $$
                begin
                    if buyer is null then perform pg_sleep(3.5); end if;
                    return buyer is not null or current_setting('statement_timeout')::interval > '2 minutes';
                end $$
                """
            )
            try await stage.sql(
                """
                create table public.invoices (
                    id int,
                    buyer uuid references auth.users on delete set null,
                    constraint somebody_bought check (public.is_sold(buyer))
                )
                """
            )
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.invoices values (1, \(person.id))")
            let objects = try await stage.count("select from storage.objects")
            let request = try await stage.request(person)
            var own = PoolConfiguration(connection: ConnectionConfiguration(conninfo: stage.database.conninfo))
            own.connection.statementDeadline = .seconds(3)
            own.connection.sessionSettings = ["jit": "off"]
            own.maximumConnections = 3
            let untried: Statement = "select facts -> 'untried' from accountctl.deletion_steps where step = 'preflight'"
            try await Pool.withPool(own, logger: .silent) { pool in
                let driver = DeletionDriver(stage.services(pool: pool))
                _ = try await driver.drive(request)
                #expect(try await stage.situation(request)?.blockers?.map(\.name) == ["somebody_bought"])
                #expect(try await stage.outcome(.lockOut, request) == "ok")
                #expect(try await stage.value(untried, as: JSON<[String]>?.self)?.value == ["public.invoices (checks)"])
                #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
                #expect(try await stage.count("select from storage.objects") == objects)
                // Nothing was done yet that could not be undone.
                let begun: Statement = "select from accountctl.deletion_steps where step = 'revoke_apple'"
                #expect(try await stage.count(begun) == 0)

                try await stage.sql("alter table public.invoices drop constraint somebody_bought")
                #expect(try await driver.drive(request) == .ended(.verified))
            }
            // It was asked in time after all.
            #expect(try await stage.value(untried, as: JSON<[String]>?.self) == nil)
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
                #expect((preview?.untried.map(\.description).contains("auth.users.wave") == true) == asksTriggers)
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
}
