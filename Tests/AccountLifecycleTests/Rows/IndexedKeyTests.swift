import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Which indexes find the rows to delete: without one, each deleted account costs a scan of the whole table.
@Suite(.timeLimit(.minutes(5))) struct IndexedKeyTests {
    @Test func anIndexHasToHoldEveryRowAndLeadWithTheKey() async throws {
        try await Stage.with { stage in
            let tables = ["none", "partial", "behind", "beside", "failed", "first", "both"]
            for table in tables {
                try await stage.database.psql(
                    """
                    create table public.\(table) (
                        author uuid references auth.users on delete cascade, room int, gone bool
                    )
                    """
                )
            }
            try await stage.database.psql(
                """
                create index on public.partial (author) where not gone;
                create index on public.behind (room, author);
                create index on public.beside (room) include (author);
                create index on public.failed (author);
                create index on public.first (author, room);
                -- A key of several columns, which the index has in another order.
                create table public.rooms (id int, owner uuid, primary key (id, owner));
                alter table public.both drop constraint both_author_fkey;
                alter table public.both add foreign key (room, author) references public.rooms on delete cascade;
                alter table public.rooms add foreign key (owner) references auth.users on delete cascade;
                create index on public.both (author, room);
                -- As CREATE INDEX CONCURRENTLY leaves an index that it could not finish.
                update pg_index set indisvalid = false where indrelid = 'public.failed'::regclass
                """
            )
            let plan = try await stage.pool.withConnection { DeletionPlan(try DeletionCatalog.read(on: $0)) }
            let ours = Set(tables + ["rooms"])
            let unindexed = Set(plan.unindexed.map(\.table.name)).intersection(ours)
            #expect(unindexed == ["none", "partial", "behind", "beside", "failed", "rooms"])
            #expect(ours.isSubset(of: plan.parts.map(\.table.name)))
        }
    }
}
