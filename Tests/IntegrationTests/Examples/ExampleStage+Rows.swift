/// The rows in the database of an ``ExampleStage``.
extension ExampleStage {
    /// Makes 42, as the examples have it, the next number of a receipt, an event, a credential and a line of the log.
    static let numbers = """
        alter table accountctl.operator_log alter column id restart with 42;
        alter table accountctl.apple_credentials alter column id restart with 42;
        alter table accountctl.credential_events alter column id restart with 42;
        alter table accountctl.deletion_receipts alter column number restart with 42;
        """

    /// The accounts that examples name, and twelve that were not used for years, each with an old avatar.
    static let people = """
        insert into auth.users (instance_id, id, aud, role, email, phone, created_at, last_sign_in_at)
        select '00000000-0000-0000-0000-000000000000'::uuid, id::uuid, 'authenticated', 'authenticated', email, phone,
            now() - interval '3 years', now() - age::interval
        from (
            values
                ('\(anna)', 'anna@example.com', '49151123456', '1 hour'),
                ('\(hidden)', 'abc123@privaterelay.appleid.com', null, '1 hour'),
                ('00000000-0000-4000-8000-000000000001', 'test@example.com', null, '1 hour'),
                ('00000000-0000-4000-8000-000000000002', 'blocked@example.com', null, '1 hour'),
                ('00000000-0000-4000-8000-000000000003', 'residue@example.com', null, '1 hour'),
                ('00000000-0000-4000-8000-000000000004', 'off1@privaterelay.appleid.com', null, '1 hour')
        ) as p (id, email, phone, age)
        union all
        select '00000000-0000-0000-0000-000000000000'::uuid, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
            'authenticated', 'authenticated', 'idle' || n || '@example.com', null,
            now() - interval '4 years', now() - interval '3 years'
        from generate_series(101, 112) as n;
        insert into auth.sessions (id, user_id) select gen_random_uuid(), '\(anna)';
        update public.profiles set username = 'anna_k' where id = '\(anna)';
        create table public.invoices (id bigint primary key, buyer text);
        insert into storage.objects (bucket_id, name, owner, owner_id, metadata, created_at, updated_at)
        select 'avatars', id || '/old.png', id, id::text, '{"size": 2048}', now() - interval '1 year',
            now() - interval '1 year'
        from auth.users
        where email like 'idle%';
        insert into accountctl.relay_addresses (user_id, address, apple_claim, forwarding, forwarding_changed_at)
        values ('00000000-0000-4000-8000-000000000004', 'off1@privaterelay.appleid.com', true, 'off', now());
        insert into accountctl.credential_events (
            source, kind, client_id, user_id, notification_id, happened_at, handled_at, outcome
        )
        values
            ('apple', 'account-deleted', 'com.example.app', '\(anna)', 'n1', now() - interval '2 hours', now(), 'stale');

        """

    static let mailCheck = """
        select accountctl.enqueue_job(
            kind => 'mail.check', args => jsonb_build_object('stream', id), queue => 'mail',
            unique_key => 'mail.check:' || id
        )
        from accountctl.mail_streams
        """

    /// Jobs and an event that no worker may take, inserted after the last run of a worker.
    static let jobs = """
        insert into accountctl.credential_events (source, kind, client_id, user_id)
        values ('device', 'revoked', 'com.example.app', '\(anna)');
        insert into accountctl.jobs (id, kind, queue, run_at, state)
        values
            (42, 'mail.check', 'mail', now() + interval '1 day', 'scheduled'),
            (43, 'mail.check', 'mail', now() + interval '1 day', 'scheduled');
        insert into accountctl.jobs (id, kind, queue, state, parked_for)
        values (44, 'mail.check', 'mail', 'parked', 'limit');
        -- Later jobs start at 1000, so that no job that an example adds takes one of the ids above.
        alter table accountctl.jobs alter column id restart with 1000;
        insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
        values ('here:1', '1', 4, '{mail}', '{mail.check}', now() + interval '1 hour');
        """

    /// Two deletions that need an operator.
    static let standing = """
        insert into accountctl.deletion_requests (
            user_id, origin, state, situation, run_after, legal_deadline, locked_out_at
        )
        values
            ('00000000-0000-4000-8000-000000000002', 'app', 'blocked', '{"code": "blocking_rows"}', now(),
             now() + interval '20 days', null),
            ('00000000-0000-4000-8000-000000000003', 'app', 'residue',
             '{"code": "residue", "findings": [{"column": "public.invoices.buyer", "identifiers": ["email"], "count": 1}]}', now(),
             now() + interval '20 days', now())
        """

    /// Moves the jobs 42 and 43 to the history as discarded.
    static let discarded = """
        with gone as (
            delete from accountctl.jobs
            where id in (42, 43)
            returning *
        )
        insert into accountctl.job_history (
            id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args, reason
        )
        select id, lease, run_at, created_at, 'discarded', priority, attempt, crashes, args_version, queue, kind, args, 'lost'
        from gone
        """

    /// Copies every row, and creates the functions that restore the copies and that hash all rows.
    static let keeping = """
        create schema example_stage;
        create view example_stage.tables as
        select format('%I.%I', n.nspname, c.relname) as name,
            (
                select string_agg(format('%I', attname), ', ' order by attnum)
                from pg_attribute
                where attrelid = c.oid
                  and attnum > 0
                  and not attisdropped
                  and attgenerated = ''
            ) as columns
        from pg_class as c
        join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname in ('auth', 'public', 'storage', 'accountctl')
          and c.relkind in ('r', 'p')
          and not c.relispartition;
        -- As bytes, so that a deletion, which searches every table for residue, does not find these copies.
        create table example_stage.kept (name text primary key, bytes bytea);
        do $$
        declare t record;
        begin
            for t in select * from example_stage.tables loop
                execute format(
                    'insert into example_stage.kept '
                        'select %L, convert_to(coalesce(jsonb_agg(to_jsonb(r)), ''[]'')::text, ''UTF8'') from %s as r',
                    t.name, t.name
                );
            end loop;
        end $$;
        create function example_stage.restore() returns void language plpgsql set session_replication_role = replica as $$
        declare t record;
        begin
            -- The log's trigger refuses a truncate even with session_replication_role = replica.
            alter table accountctl.operator_log disable trigger operator_log_refuse_change;
            execute (select 'truncate ' || string_agg(name, ', ') from example_stage.tables);
            alter table accountctl.operator_log enable always trigger operator_log_refuse_change;
            for t in select * from example_stage.tables loop
                execute format(
                    'insert into %s (%s) overriding system value '
                        'select %s from jsonb_populate_recordset(null::%s, convert_from($1, ''UTF8'')::jsonb)',
                    t.name, t.columns, t.columns, t.name
                )
                using (select bytes from example_stage.kept where name = t.name);
            end loop;
        end $$;
        create function example_stage.fingerprint() returns text language plpgsql as $$
        declare
            t record;
            one text;
            whole text := '';
        begin
            for t in select * from example_stage.tables order by name loop
                execute format('select md5(string_agg(r::text, '','' order by r::text)) from %s as r', t.name) into one;
                whole := whole || ' ' || coalesce(one, '-');
            end loop;
            return md5(whole);
        end $$;
        """

    /// The DNS zone of the examples' mail sender.
    static let zone = """
        example.com MX 10 in.example.com
        example.com TXT v=spf1 include:_spf.esp.example -all
        in.example.com A 192.0.2.9
        send.example.com TXT v=spf1 include:_spf.esp.example -all
        send.example.com MX 10 bounce.esp.example
        bounce.esp.example A 192.0.2.8
        out.esp.example A 192.0.2.25
        out.esp.example TXT v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all
        _spf.esp.example TXT v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all
        _dmarc.example.com TXT v=DMARC1; p=reject; rua=mailto:dmarc@example.com
        s1._domainkey.example.com CNAME s1.esp.example
        s1.esp.example TXT v=DKIM1; k=rsa; p=\(MailZone.rsaKey)
        """
}
