import Postgres
import TestSupport

extension Stage {
    /// Makes the delete of every account fail with a SQLSTATE, and records that the preflight had no time to try that
    /// delete.
    func refuseUntried(_ sqlState: String) async throws {
        try await sql(
            """
            create or replace function public.refuse() returns trigger language plpgsql as
            $$ begin raise exception using errcode = tg_argv[0]; end $$
            """
        )
        try await sql(
            """
            create or replace trigger refuse before delete on public.profiles
            for each row execute function public.refuse(\(unsafeSQL: "'\(sqlState)'"))
            """
        )
        try await leaveUntried()
    }

    /// Records that the preflight had no time to try the delete, so that the step at Apple tries it.
    func leaveUntried() async throws {
        try await sql(
            """
            update accountctl.deletion_steps
            set facts = coalesce(facts, '{}') || '{"untried": ["public.profiles.refuse"]}'
            where step = 'preflight'
            """
        )
    }
}
