import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// Everything that would stop a delete is named before anything is touched.
@Suite(.timeLimit(.minutes(5))) struct BlockerTests {
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

    /// A request is looked at every few minutes for as long as it is blocked; what blocks it next is told again.
    @Test func whatStandsStillIsAWarningOnce() async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.orders (id int, buyer uuid references auth.users)")
            try await stage.sql("create table public.invoices (id int, buyer uuid references auth.users)")
            let person = try await stage.signUp()
            try await stage.sql("insert into public.orders values (1, \(person.id))")
            let request = try await stage.request(person)
            let lines = LogLines()
            let driver = DeletionDriver(stage.services(logger: lines.logger))
            for _ in 0..<2 { _ = try await driver.drive(request) }
            try await stage.sql("insert into public.invoices values (1, \(person.id))")
            try await stage.sql("delete from public.orders")
            _ = try await driver.drive(request)
            let told = lines.all.filter { $0.contains("a deletion request cannot continue") }
            #expect(told.map { $0.prefix { $0 != " " } } == ["warning", "debug", "warning"], "\(told)")
            #expect(told.prefix(2).allSatisfy { $0.contains("tables=public.orders") }, "\(told)")
            #expect(told.last?.contains("tables=public.invoices") == true, "\(told)")
        }
    }

    /// Rows further around a cycle of keys, or of a single partition, are beyond our counts: only the delete itself
    /// meets them.
    ///
    /// Rows that refer to sessions, and are deleted along with the account, stop only the lock-out, which ends sessions
    /// before any row is deleted.
    @Test(arguments: [
        (
            "devices_session_fkey",
            [
                """
                create table public.devices (
                    owner uuid references auth.users on delete cascade,
                    session uuid constraint devices_session_fkey references auth.sessions
                )
                """,
                "grant select, delete on public.devices to postgres",
                "insert into public.devices select user_id, id from auth.sessions where user_id = '{anna}'",
            ]
        ),
        (
            "alerts_device_fkey",
            [
                """
                create table public.devices (
                    id int primary key,
                    session uuid references auth.sessions on delete cascade
                )
                """,
                """
                create table public.alerts (
                    owner uuid references auth.users on delete cascade,
                    device int constraint alerts_device_fkey references public.devices deferrable initially deferred
                )
                """,
                "grant select, delete on public.devices, public.alerts to postgres",
                "insert into public.devices select 1, id from auth.sessions where user_id = '{anna}'",
                "insert into public.alerts values ('{anna}', 1)",
            ]
        ),
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
            #expect(try await stage.count("select from accountctl.deletion_steps where step = 'lock_out'") == 0)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await stage.count("select from storage.objects") == objects)
        }
    }

    /// A trial may fail because somebody locks a row for longer than the lock timeout, which does nothing to the
    /// account.
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

    /// The step has begun once Apple was asked, however often it was started.
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

    /// While the preflight tries the delete the account still works, so that trial has to be short; after the lock-out
    /// a trial may take longer, but only minutes, since nobody can stop the request meanwhile.
    @Test func whatTheTrialCouldNotTellInTimeIsAskedBeforeAppleIs() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create function public.is_sold(buyer uuid) returns boolean language plpgsql as $$
                begin
                    if buyer is null then perform pg_sleep(5.5); end if;
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
            var own = PoolConfiguration(connection: stage.database.configuration)
            own.connection.statementDeadline = .seconds(5)
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
                // Nothing irreversible has been done yet.
                let begun: Statement = "select from accountctl.deletion_steps where step = 'revoke_apple'"
                #expect(try await stage.count(begun) == 0)

                try await stage.sql("alter table public.invoices drop constraint somebody_bought")
                #expect(try await driver.drive(request) == .ended(.verified))
            }
            // The trial had its answer in time after all.
            #expect(try await stage.value(untried, as: JSON<[String]>?.self) == nil)
        }
    }

    @Test func aKeyThatBeginsToBlockInTheMiddleIsMetByTheSecondLook() async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.orders (id int, buyer uuid references auth.users)")
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.drive(request, once: .before(.deleteRows)) {
                try await stage.sql("insert into public.orders values (1, \(person.id))")
            }
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.code == .blockingRows)
            try await stage.sql("delete from public.orders")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// Rows that outlive their account may refuse to lose their reference, which is found before anybody is locked out.
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

    /// Nothing of an account that cannot be locked out is touched, and the reason is named.
    @Test func rowsThatKeepSessionsAndCameSinceThePreflightAreNamed() async throws {
        try await Stage.with { stage in
            for statement in [
                """
                create table public.devices (
                    owner uuid references auth.users on delete cascade,
                    session uuid constraint devices_session_fkey references auth.sessions
                )
                """,
                "grant select, delete on public.devices to postgres",
            ] as [Statement] { try await stage.sql(statement) }
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.drive(request, once: .before(.lockOut)) {
                try await stage.sql(
                    "insert into public.devices select user_id, id from auth.sessions where user_id = \(person.id)"
                )
            }
            let situation = try #require(try await stage.situation(request))
            #expect(situation.code == .blockingRows)
            #expect(situation.blockers?.map(\.table) == ["public.devices"])
            #expect(situation.blockers?.map(\.name) == ["devices_session_fkey"])
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("delete from public.devices")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// For instance, rows pass to a stand-in for people who have left, and each account can like a post only once.
    @Test func aConstraintThatRowsDoNotMeetWithoutTheirAccountIsNamed() async throws {
        try await Stage.with { stage in
            let (person, ghost) = (try await stage.fullAccount(), try await stage.signUp("ghost"))
            try await stage.sql(
                Statement(
                    unsafeSQL: """
                        create table public.likes (
                            post int,
                            author uuid default '\(ghost.text)' references auth.users on delete set default,
                            constraint likes_once unique (post, author)
                        )
                        """
                )
            )
            try await stage.sql("insert into public.likes values (1, \(person.id)), (1, \(ghost.id))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            let situation = try #require(try await stage.situation(request))
            #expect(situation.code == .blockingRows)
            #expect(situation.blockers?.map(\.name) == ["likes_once"])
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
        }
    }

    /// For instance, in tables of tenants the tenant is a part of the key, and stays.
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
            try await stage.erase(person)
            #expect(try await stage.count("select from public.notes where tenant = 1 and author is null") == 1)
        }
    }
}
