import MailRelay
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Looking for what would stop a delete reads tables of the app that other roles may own.
@Suite(.timeLimit(.minutes(5))) struct BlockersOfOthersTests {
    /// The planner evaluates the condition of a partial index for any query of its table; a cascade runs as the table's
    /// owner.
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
                // A session evaluates the condition once.
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
            try await stage.erase(person)
            let after = try await other.calls()
            #expect(after == before)
            // The function does run when the table is read in any other way.
            try await stage.database.psql("select from others.rows")
            let read = try await other.calls()
            #expect(read > after)
            try await other.drop()
        }
    }

    /// For instance, a search path by which our next statement would find another function than the intended one.
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
