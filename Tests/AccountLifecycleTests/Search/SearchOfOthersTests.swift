import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// A search reads every table as a role that sees everything, so code of other roles must not run as that role.
@Suite(.timeLimit(.minutes(5))) struct SearchOfOthersTests {
    /// The owner of a type can create a cast for it, and any role that may create objects in `public` a function there.
    @Test(arguments: [1, 12]) func noFunctionOfAnotherRoleIsCalled(accounts: Int) async throws {
        try await Stage.with { stage in
            var people: [Person] = []
            for index in 0..<accounts { people.append(try await stage.signUp("anna\(index)")) }
            let other = try await OtherRole(
                on: stage,
                making: """
                    create type others.note as (t text);
                    create function others.note_text(others.note) returns text language plpgsql as
                    $$ begin perform nextval('others.calls'); return ($1).t; end $$;
                    create cast (others.note as text) with function others.note_text(others.note);
                    create domain others.id as uuid;
                    create function others.plain_ids(others.id[]) returns uuid[] language plpgsql as
                    $$ begin perform nextval('others.calls'); return '{}'; end $$;
                    create cast (others.id[] as uuid[]) with function others.plain_ids(others.id[]);
                    create function public.concat(others.note) returns text language plpgsql as
                    $$ begin perform nextval('others.calls'); return ''; end $$;
                    create function public.lower(varchar) returns text language plpgsql as
                    $$ begin perform nextval('others.calls'); return ''; end $$;
                    create function public.pg_column_size(text) returns int language plpgsql as
                    $$ begin perform nextval('others.calls'); return 0; end $$;
                    create function public.overlaps(uuid[], uuid[]) returns boolean language plpgsql as
                    $$ begin perform nextval('others.calls'); return false; end $$;
                    create operator public.&& (leftarg = uuid[], rightarg = uuid[], function = public.overlaps);
                    create table others.notes (note others.note, ids others.id[], plain uuid[]);
                    """
            )
            try await stage.sql(
                """
                insert into others.notes
                values (
                    row(\("by " + people[0].email)::text)::others.note, array[\(people[0].id)]::others.id[],
                    array[\(people[0].id)]
                )
                """
            )
            let targets = people.map { SearchTarget($0) }
            let found = try await SearchPass.run(targets, keptBuckets: [], pool: stage.pool)[0].findings
            let columns = found.map(\.column).filter { $0.hasPrefix("others.") }
            #expect(columns == ["others.notes.ids", "others.notes.note", "others.notes.plain"])
            let calls = try await other.calls()
            #expect(calls == 0)
            try await other.drop()
        }
    }

    /// Many apps have such an index, to find names without their accents: its function finds another one by the search
    /// path.
    ///
    /// From PostgreSQL 17 on no such index can be created, but its function may be replaced afterwards.
    @Test func anIndexWhoseFunctionNamesNoSchemaIsNoHindrance() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp("anna")
            let other = try await OtherRole(
                on: stage,
                making: """
                    create function public.plain(text) returns text language sql immutable as
                    $$ select translate($1, 'é', 'e') $$;
                    create function others.searchable(text) returns text language sql immutable as
                    $$ select public.plain($1) $$;
                    create table others.people (name text);
                    create index on others.people (lower(others.searchable(name)));
                    create or replace function others.searchable(text) returns text language sql immutable as
                    $$ select plain($1) $$;
                    """
            )
            try await stage.sql("insert into others.people values (\(person.email))")
            let found = try await SearchPass.run([SearchTarget(person)], keptBuckets: [], pool: stage.pool)[0].findings
            #expect(found.map(\.column).contains("others.people.name"))
            try await other.drop()
        }
    }

    /// The planner evaluates the condition of a partial index for any query of its table.
    @Test func whatThePlannerRunsWritesNothing() async throws {
        try await Stage.with { stage in
            let other = try await OtherRole(on: stage, making: Self.table("perform nextval('others.calls')"))
            let before = try await other.calls()
            var failed: FailedSearch?
            do {
                try await stage.pool.withConnection { try await Self.search(on: $0) }
            } catch let error as FailedSearch {
                failed = error
            }
            #expect(failed?.table == "others.rows")
            #expect(failed?.cause.sqlState == .readOnlyTransaction)
            let after = try await other.calls()
            #expect(after == before)
            try await other.drop()
        }
    }

    /// For instance, a search path by which our next statement would find another function than the intended one.
    @Test func whatThePlannerRunsLeavesNoSettingBehind() async throws {
        try await Stage.with { stage in
            let setting = "select coalesce(nullif(current_setting('others.mark', true), ''), 'none')"
            let other = try await OtherRole(
                on: stage,
                making: Self.table("perform set_config('others.mark', 'left', false)")
            )
            let left = try await stage.pool.withConnection { connection in
                try await Self.search(on: connection)
                return try connection.one(Statement(unsafeSQL: setting), as: String.self)
            }
            #expect(left == "none")
            // The function does run when the table is read in any other way.
            let marked = try await stage.database.withConnection { connection in
                try connection.execute("select from others.rows")
                return try connection.one(Statement(unsafeSQL: setting), as: String.self)
            }
            #expect(marked == "left")
            try await other.drop()
        }
    }

    /// SQL for a table with a partial index whose condition is a function that does `act`.
    private static func table(_ act: String) -> String {
        """
        create function others.is_kept() returns boolean language plpgsql immutable as
        $$ begin \(act); return true; end $$;
        create table others.rows (note text);
        create index on others.rows (note) where others.is_kept();
        """
    }

    private static func search(on connection: isolated Connection) async throws {
        let identifiers = [Identifier(email: "anna@example.com")].compactMap(\.self)
        let search = IdentifierSearch([SearchTarget(request: UUID(), userID: UUID(), identifiers: identifiers)])
        let tables = try await SearchCatalog.readApart(on: connection).tables
        _ = try await search.run(tables.filter { $0.name.schema == "others" }, on: connection)
    }
}
