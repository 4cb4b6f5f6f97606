import MailRelay
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Whoever looks for what would stop a delete reads the app's tables, whose owners may be others.
@Suite(.timeLimit(.minutes(5))) struct BlockersOfOthersTests {
    /// The planner evaluates the condition of an index, whatever is asked of its table; a cascade asks as its owner.
    @Test func whatThePlannerRunsWritesNothing() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await OtherRole(
                on: stage,
                making: """
                    create function others.is_kept() returns boolean language plpgsql immutable as
                    $$
                    begin
                        if current_user = session_user then perform nextval('others.calls'); end if;
                        return true;
                    exception
                        when read_only_sql_transaction then return true;
                    end
                    $$;
                    create table others.rows (user_id uuid, file uuid);
                    create index on others.rows (user_id) where others.is_kept();
                    """
            )
            try await stage.database.psql(
                """
                alter table others.rows
                add foreign key (user_id) references auth.users,
                add foreign key (file) references storage.objects
                """
            )
            let before = try await other.calls()
            for asksTriggers in [false, true] {
                // A session evaluates it once.
                let preview = try await stage.database.withConnection { connection in
                    try await DeletionPreview.read(
                        person.id,
                        policy: Stage.swift,
                        asksTriggers: asksTriggers,
                        on: connection
                    )
                }
                #expect(preview?.blockers.isEmpty == true)
            }
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let after = try await other.calls()
            #expect(after == before)
            // It does run, for whoever reads the table otherwise.
            try await stage.database.psql("select from others.rows")
            let read = try await other.calls()
            #expect(read > after)
            try await other.drop()
        }
    }

    /// A path of the session, say, by which the next statement of ours would find another function than it means.
    @Test func whatTheReportOfAnAccountReadsLeavesNothingBehind() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let other = try await OtherRole(
                on: stage,
                making: """
                    create function others.is_kept() returns boolean language plpgsql immutable as
                    $$ begin perform set_config('others.mark', 'left', false); return true; end $$;
                    create table others.rows (user_id uuid);
                    create index on others.rows (user_id) where others.is_kept();
                    """
            )
            try await stage.database.psql("alter table others.rows add foreign key (user_id) references auth.users")
            let mark: Statement = "select coalesce(nullif(current_setting('others.mark', true), ''), 'none')"
            let term = try #require(LookupTerm(person.text, as: .userID))
            let (rows, left) = try await stage.pool.withConnection { connection -> (Int?, String) in
                let match = try AccountDirectory(hashKey: nil).find(term, on: connection).matches.first
                let report = try await AccountReport.read(
                    try #require(match),
                    hashKey: nil,
                    relayDomains: RelayDomains(),
                    counting: (all: .seconds(60), one: .seconds(30)),
                    on: connection
                )
                let counted = report?.dependents.first { $0.table == "others.rows" }
                return (counted?.rows, try connection.one(mark, as: String.self))
            }
            #expect(rows == 0)
            #expect(left == "none")
            try await other.drop()
        }
    }
}
