import TestSupport

/// Searches every table for a person, independently of the product's own search: whole rows as text.
extension Stage {
    /// A hash, for each table, of the rows that name a person: it changes when anything about the person does.
    func fingerprint(_ person: Person) async throws -> String {
        try await told(
            "md5(string_agg(r::text, chr(10) order by r::text))",
            of: person,
            in: "c.relkind = 'r' and n.nspname in ('public', 'auth', 'storage', 'accountctl')"
        )
    }

    /// The tables that still contain any form of the person.
    func traces(of person: Person) async throws -> String {
        try await told(
            "max(r.tableoid::regclass::text) || chr(32)",
            of: person,
            in: "c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')"
        )
    }

    /// Evaluates an aggregate over the rows that name the person, for each table that has any, and joins the results.
    private func told(_ aggregate: String, of person: Person, in tables: String) async throws -> String {
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
                    where \(tables)
                    order by n.nspname, c.relname
                loop
                    execute format(
                        'select \(aggregate) from %s as r where strpos(lower(r::text), %L) > 0 '
                        'or strpos(lower(r::text), %L) > 0 or strpos(lower(r::text), %L) > 0',
                        t, '\(person.text)', '\(person.email)', replace('\(person.text)', '-', '')
                    ) into part;
                    total := total || coalesce(part, '');
                end loop;
                perform set_config('test.told', total, false);
            end
            $$;
            select current_setting('test.told');
            """
        )
    }
}
