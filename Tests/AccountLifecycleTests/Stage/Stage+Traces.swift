import TestSupport

/// Looks for a person in every table, by a search that knows nothing of ours: whole rows as text.
extension Stage {
    /// Every row that names a person, as one number: it changes when anything about the person does.
    func fingerprint(_ person: Person) async throws -> String {
        try await database.psql(
            """
            do $$
            declare
                t regclass;
                part text;
                total text := '';
            begin
                for t in
                    select c.oid
                    from pg_class as c
                    join pg_namespace as n on n.oid = c.relnamespace
                    where c.relkind = 'r' and n.nspname in ('public', 'auth', 'storage', 'accountctl')
                    order by n.nspname, c.relname
                loop
                    execute format(
                        'select coalesce(md5(string_agg(r::text, chr(10) order by r::text)), '''') from %s as r '
                        'where strpos(lower(r::text), %L) > 0 or strpos(lower(r::text), %L) > 0',
                        t, '\(person.text)', '\(person.email)'
                    ) into part;
                    total := total || part;
                end loop;
                perform set_config('test.fingerprint', md5(total), false);
            end
            $$;
            select current_setting('test.fingerprint');
            """
        )
    }

    /// The tables in which any form of the person is left.
    func traces(of person: Person) async throws -> String {
        try await database.psql(
            """
            do $$
            declare
                t regclass;
                hits bigint;
                found text := '';
            begin
                for t in
                    select c.oid
                    from pg_class as c
                    join pg_namespace as n on n.oid = c.relnamespace
                    where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
                    order by n.nspname, c.relname
                loop
                    execute format(
                        'select count(*) from %s as r where strpos(lower(r::text), %L) > 0 '
                        'or strpos(lower(r::text), %L) > 0 or strpos(lower(r::text), %L) > 0',
                        t, '\(person.text)', '\(person.email)', replace('\(person.text)', '-', '')
                    ) into hits;
                    if hits > 0 then found := found || t || ' '; end if;
                end loop;
                perform set_config('test.traces', found, false);
            end
            $$;
            select current_setting('test.traces');
            """
        )
    }
}
