import Postgres
import TestSupport

extension Stage {
    /// Has the delete of every account end with a SQLSTATE, as if no preflight had had the time to ask.
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

    /// Has the step at Apple try the delete of every account, as if no preflight had had the time to.
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
