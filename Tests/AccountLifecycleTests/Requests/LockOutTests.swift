import AccountLifecycle
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct LockOutTests {
    /// Locks out the account of a new request, as a worker does that then dies.
    private func lockOut(_ person: Person, on stage: Stage) async throws -> UUID {
        let request = try await stage.requestByOperator(person)
        try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
        return request
    }

    private func ban(of person: Person, on stage: Stage) async throws -> String {
        try await stage.value(
            """
            select coalesce((banned_until at time zone 'UTC')::date::text, 'none')
            from auth.users
            where id = \(person.id)
            """,
            as: String.self
        )
    }

    private func cancel(_ request: UUID, on stage: Stage) async throws {
        let desk = stage.desk
        let act = try await stage.pool.withConnection { try await desk.cancel(request, reason: "mistake", on: $0) }
        #expect(act == .done)
    }

    /// Adds a trigger that runs on every change of an account, and refuses none.
    private func letEveryChangePass(on stage: Stage) async throws {
        for statement in [
            "create function public.pass() returns trigger language plpgsql as $$ begin return new; end $$",
            "create trigger always before update on auth.users for each row execute function public.pass()",
        ] as [Statement] { try await stage.sql(statement) }
    }

    /// For instance, an app guards columns of accounts with such a trigger; another one, which refuses nothing, is not
    /// blamed.
    @Test func aTriggerThatRefusesTheBanIsNamed() async throws {
        try await Stage.with { stage in
            for statement in [
                """
                create function public.guard() returns trigger language plpgsql as
                $$ begin raise exception 'nobody is banned'; end $$
                """,
                """
                create trigger guard before update of banned_until on auth.users
                for each row execute function public.guard()
                """,
            ] as [Statement] { try await stage.sql(statement) }
            try await letEveryChangePass(on: stage)
            let person = try await stage.fullAccount()
            let request = try await stage.requestByOperator(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let situation = try #require(try await stage.situation(request))
            #expect(situation.code == .refusingTrigger)
            #expect(situation.blockers?.map(\.name) == ["guard"])
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("drop trigger guard on auth.users")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// Neither a trigger that lets the ban pass is blamed, nor our own, which runs when a name arrives.
    @Test func aBanThatNoTriggerRefusesIsAFailure() async throws {
        try await Stage.with { stage in
            try await letEveryChangePass(on: stage)
            let person = try await stage.fullAccount()
            let request = try await stage.requestByOperator(person)
            try await stage.sql("alter table auth.users add constraint unbanned check (banned_until is null)")
            try await stage.drive(request)
            let told = Situation(.failing, detail: "lock_out: SQLSTATE 23514: unbanned of auth.users")
            #expect(try await stage.situation(request) == told)
        }
    }

    @Test func anOldTokenIsAcceptedALittleLongerThanItLives() {
        #expect(DeletionPolicy().tokenLife == .seconds(3660))
        #expect(DeletionPolicy.acceptance(ofTokensLiving: .seconds(900)) == .seconds(960))
        // A lifetime of zero says that there is no token to wait for.
        #expect(DeletionPolicy.acceptance(ofTokensLiving: .zero) == .zero)
    }

    /// Until it expires, an old token may have Storage sign an address for an upload.
    @Test(arguments: [true, false]) func theLastSweepWaitsForUploadsThatStorageSigned(_ hasStorage: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            var policy = DeletionPolicy()
            policy.grace = .zero
            let services = DeletionServices(
                pool: stage.pool,
                policy: policy,
                vault: stage.vault,
                apple: AppleGateway(stage.apple),
                storage: StorageGateway(hasStorage ? stage.storage : nil),
                logger: .silent
            )
            _ = try await DeletionDriver(services).drive(request)
            #expect(try await stage.state(request) == "settling")
            let seconds = try await stage.value(
                """
                select round(extract(epoch from settle_after - locked_out_at))::int
                from accountctl.deletion_requests
                where id = \(request)
                """,
                as: Int.self
            )
            #expect(seconds == (hasStorage ? 3660 + 7200 : 3660))
        }
    }

    @Test func endsWhateverSignsInOrCouldBeMadeToAndNobodyElses() async throws {
        try await Stage.with { stage in
            let bystander = try await stage.signUp("berta")
            let person = try await stage.signUp()
            for each in [person, bystander] {
                // A token without a session, as the oldest ones are.
                try await stage.sql(
                    "insert into auth.refresh_tokens (token, user_id) values (\(UUID().uuidString), \(each.text))"
                )
                try await stage.sql(
                    """
                    insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
                    values (gen_random_uuid(), \(each.id), 'recovery_token', 'hash', \(each.email))
                    """
                )
            }
            try await stage.sql(
                """
                insert into auth.flow_state (id, linking_target_id, provider_type, authentication_method, created_at)
                values (gen_random_uuid(), \(person.id), 'google', 'oauth', now())
                """
            )
            let before = try await stage.fingerprint(bystander)
            _ = try await lockOut(person, on: stage)
            #expect(try await stage.count("select from auth.flow_state where linking_target_id = \(person.id)") == 0)
            for table in ["sessions", "refresh_tokens", "one_time_tokens", "flow_state"] {
                let left: Statement = "select from auth.\(identifier: table) where user_id::text = \(person.text)"
                #expect(try await stage.count(left) == 0, "\(table)")
            }
            #expect(try await stage.fingerprint(bystander) == before)
            // Supabase's server cannot read an infinite ban.
            let isFinite: Statement = """
                select from auth.users
                where id = \(person.id) and banned_until between now() + interval '9 years' and now() + interval '11 years'
                """
            #expect(try await stage.count(isFinite) == 1)
        }
    }

    /// An operator had suspended the account before the request, for a time or for good, or not at all.
    @Test(arguments: ["2099-01-02", "infinity", "none"])
    func aCancelPutsTheBanBackThatWasThere(_ before: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let date = before == "none" ? nil : before
            try await stage.sql("update auth.users set banned_until = \(date)::timestamptz where id = \(person.id)")
            let former = try await ban(of: person, on: stage)
            let request = try await lockOut(person, on: stage)
            #expect(try await ban(of: person, on: stage) != former)
            try await cancel(request, on: stage)
            #expect(try await ban(of: person, on: stage) == former)
        }
    }

    /// An administrator has changed the ban in Supabase's dashboard: a cancellation overrules neither a new ban nor a
    /// lifted one.
    @Test(arguments: ["2098-03-04", "none"])
    func aCancelLeavesABanThatSomebodyChangedSince(_ since: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql("update auth.users set banned_until = '2099-01-02 12:00Z' where id = \(person.id)")
            let request = try await lockOut(person, on: stage)
            let date = since == "none" ? nil : since
            try await stage.sql("update auth.users set banned_until = \(date)::timestamptz where id = \(person.id)")
            try await cancel(request, on: stage)
            #expect(try await ban(of: person, on: stage) == since)
        }
    }

    /// For instance, a rehearsal runs beside a worker: the second of them finds the account locked out, by a ban of our
    /// own.
    @Test func takenTwiceAtOnceItRemembersTheBanOfBefore() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql("update auth.users set banned_until = '2099-01-02 12:00Z' where id = \(person.id)")
            let request = try await stage.requestByOperator(person)
            let once = Counter(1)
            try await stage.driveToCrash(request) { point in
                if point == .begun(.lockOut), once.take() {
                    try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
                    // A step that begins again clears what it had recorded.
                    try await stage.sql("update accountctl.deletion_steps set finished_at = null, outcome = null")
                }
                if point == .after(.lockOut) { throw SimulatedCrash() }
            }
            #expect(try await stage.outcome(.lockOut, request) == "ok")
            try await cancel(request, on: stage)
            #expect(try await ban(of: person, on: stage) == "2099-01-02")
        }
    }

    enum Since: CaseIterable { case nothing, signIn, unban, expiredBan }

    /// A token issued after the lock-out outlives the wait for the tokens that were issued before it.
    @Test(arguments: Since.allCases)
    func whoCouldSignInSinceIsWaitedForOnceMore(_ since: Since) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            var policy = Stage.swift
            policy.tokenLife = .seconds(3600)
            try await stage.drive(request, policy) { point in
                guard point == .before(.deleteRows) else { return }
                try await stage.sql(
                    "update accountctl.deletion_requests set settle_after = settle_after - interval '30 minutes'"
                )
                switch since {
                case .nothing: break
                case .signIn:
                    try await stage.sql(
                        "insert into auth.sessions (id, user_id) values (gen_random_uuid(), \(person.id))"
                    )
                case .unban:
                    try await stage.sql("update auth.users set banned_until = null where id = \(person.id)")
                case .expiredBan:
                    try await stage.sql("update auth.users set banned_until = now() where id = \(person.id)")
                }
            }
            #expect(try await stage.state(request) == "settling")
            let late: Statement = """
                select from accountctl.deletion_requests where settle_after > now() + interval '45 minutes'
                """
            #expect(try await stage.count(late) == (since == .nothing ? 0 : 1))
        }
    }

    /// What the preflight read may be as old as the preflight took: both the identifiers that the account has at the
    /// lock-out and those that it had before are searched for.
    @Test(arguments: [true, false])
    func anAddressChangedSinceThePreflightIsSearchedForAsTheOldOneIs(_ changes: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let new = "berta@example.org"
            try await stage.sql("create table public.letters (old text, new text)")
            try await stage.sql("insert into public.letters values (\(person.email), \(new))")
            let request = try await stage.request(person)
            let sealed: Statement = "select sealed_identifiers from accountctl.deletion_requests where id = \(request)"
            let before = Mutex("")
            try await stage.drive(request) { point in
                guard point == .begun(.lockOut) else { return }
                let text = try await stage.value(sealed, as: String.self)
                before.withLock { $0 = text }
                guard changes else { return }
                try await stage.sql("update auth.users set email = \(new) where id = \(person.id)")
            }
            #expect(try await stage.state(request) == "residue")
            let found = try #require(try await stage.situation(request)?.findings).map(\.column)
            #expect(found == (changes ? ["public.letters.new", "public.letters.old"] : ["public.letters.old"]))
            // Nothing is written if nothing has changed.
            #expect(try await stage.value(sealed, as: String.self) == before.withLock(\.self) || changes)
        }
    }

    /// A server that crashes may lose what was not yet on disk, while the worker lives on, in the middle of a step that
    /// depends on the lost record.
    @Test func nothingIsScrubbedWhereTheServerForgotTheLockOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let flows: Statement = "select from auth.flow_state where user_id = \(person.id)"
            let (forgets, left) = (Counter(1), Counter())
            let end = try await stage.drive(request) { point in
                if point == .begun(.scrubAuth), forgets.take() {
                    try await stage.sql(
                        """
                        insert into auth.flow_state (id, user_id, provider_type, authentication_method)
                        values (gen_random_uuid(), \(person.id), 'apple', 'oauth')
                        """
                    )
                    try await stage.sql("delete from accountctl.deletion_steps where step <> 'preflight'")
                    try await stage.sql(
                        "update accountctl.deletion_requests set locked_out_at = null, state = 'requested'"
                    )
                }
                if point == .begun(.lockOut), forgets.value == 0, try await stage.count(flows) == 1 { left.add() }
            }
            #expect(left.value == 1)
            #expect(end == .ended(.verified))
            #expect(try await stage.count(flows) == 0)
        }
    }

    /// The same before the next step has begun: its beginning is not recorded on a request whose account is not locked
    /// out.
    @Test func noStepBeginsWhereTheServerForgotTheLockOut() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.signUp())
            let (forgets, begun) = (Counter(1), Counter())
            try await stage.drive(request) { point in
                if point == .before(.deleteAvatars), forgets.take() {
                    try await stage.sql("delete from accountctl.deletion_steps where step <> 'preflight'")
                    try await stage.sql(
                        "update accountctl.deletion_requests set locked_out_at = null, state = 'requested'"
                    )
                }
                let steps: Statement = "select from accountctl.deletion_steps where step = 'delete_avatars'"
                if point == .before(.lockOut), forgets.value == 0, try await stage.count(steps) > 0 { begun.add() }
            }
            #expect(forgets.value == 0)
            #expect(begun.value == 0)
            #expect(try await stage.state(request) == "verified")
        }
    }
}
