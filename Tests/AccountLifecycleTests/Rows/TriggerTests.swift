import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// Triggers that would refuse a delete are found before anything is touched.
@Suite(.timeLimit(.minutes(5))) struct TriggerTests {
    /// A trigger or a rule of a single partition is found, too.
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

    private func setKeeper(_ body: String, on stage: Stage) async throws {
        try await stage.sql(
            Statement(
                unsafeSQL: """
                    create or replace function public.keep() returns trigger language plpgsql as
                    $$ begin \(body) end $$
                    """
            )
        )
    }

    /// For instance, posts are deleted softly, or their author cannot be changed: the server then leaves rows that
    /// refer to no account, with the person's id in them.
    @Test(arguments: [
        (
            "cascade",
            "create trigger keep before delete on public.posts for each row execute function public.keep()",
            "update public.posts set is_deleted = true where id = old.id; return null;",
            // A trigger that removes the person from the rows keeps nothing of the account.
            "update public.posts set author = null where id = old.id; return null;"
        ),
        (
            "set null",
            "create trigger keep before update on public.posts for each row execute function public.keep()",
            "new.author := old.author; return new;",
            "new.is_deleted := true; return new;"
        ),
    ])
    func aTriggerThatKeepsRowsAsTheyAreRefusesToo(
        _ rule: String,
        _ trigger: String,
        _ keeping: String,
        _ letting: String
    ) async throws {
        try await Stage.with { stage in
            try await stage.sql(
                Statement(
                    unsafeSQL: """
                        create table public.posts (
                            id int, author uuid references auth.users on delete \(rule), is_deleted boolean
                        )
                        """
                )
            )
            try await setKeeper(keeping, on: stage)
            try await stage.sql(Statement(unsafeSQL: trigger))
            let person = try await stage.fullAccount()
            try await stage.addPosts(2, of: person)
            let request = try await stage.request(person)
            try await stage.drive(request)
            let blockers = try await stage.situation(request)?.blockers
            #expect(blockers?.map(\.code) == [.refusingTrigger])
            #expect(blockers?.map(\.table) == ["public.posts"])
            #expect(blockers?.map(\.name) == ["keep"])
            #expect(blockers?.map(\.rows) == [2])
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
            try await setKeeper(letting, on: stage)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.posts where author is null") == 2)
        }
    }

    /// Where profiles refer to profiles, the rows that are deleted with a profile are selected by the profiles, which
    /// are gone by then.
    @Test func rowsAreKeptAlsoWhereAProfileTakesOthersAlong() async throws {
        try await Stage.with { stage in
            for statement in [
                "alter table public.profiles add invited_by uuid references public.profiles on delete cascade",
                """
                create table public.posts (
                    id int, author uuid references public.profiles on delete cascade, is_deleted boolean
                )
                """,
            ] as [Statement] { try await stage.sql(statement) }
            try await setKeeper("update public.posts set is_deleted = true where id = old.id; return null;", on: stage)
            try await stage.sql(
                "create trigger keep before delete on public.posts for each row execute function public.keep()"
            )
            let person = try await stage.fullAccount()
            try await stage.addPosts(2, of: person)
            let request = try await stage.request(person)
            try await stage.drive(request)
            let blockers = try await stage.situation(request)?.blockers
            #expect(blockers?.map(\.table) == ["public.posts"])
            #expect(blockers?.map(\.rows) == [2])
        }
    }

    /// No rollback undoes what the trigger does outside: the picture would be gone, and the account might stay.
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

    /// The usual way is an outbox: the trigger on the profile only writes there, and a trigger on the outbox sends what
    /// is written.
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
            // What is enabled for replication only does not run either.
            for change in [
                "outbox disable trigger tell", "outbox enable replica trigger tell", "outbox enable trigger tell",
                "profiles enable replica trigger say_goodbye",
            ] {
                try await stage.sql("alter table public.\(unsafeSQL: change)")
                let left = try await reachingFromProfiles(stage)
                #expect(left == (change == "outbox enable trigger tell" ? ["say_goodbye"] : []), "\(change)")
            }
        }
    }

    private func reachingFromProfiles(_ stage: Stage) async throws -> [String] {
        try await stage.pool.withConnection { connection in
            try DeletionCatalog.read(on: connection).triggers
                .filter { $0.reachesOutside && $0.table == TableName("public", "profiles") }
                .map(\.name)
        }
    }

    /// An operator who wants the triggers tried is told that none was, since something else blocks the deletion.
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
                let preview = try await stage.preview(of: person, asksTriggers: asksTriggers)
                #expect(preview?.blockers.map(\.table) == ["public.bills"])
                #expect((preview?.untried.map(\.description).contains("auth.users.wave") == true) == asksTriggers)
                #expect(preview?.triggers.map(\.name).contains("wave") == true)
            }
        }
    }

    /// Sequence numbers are not rolled back, so they count how often the trigger ran.
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
