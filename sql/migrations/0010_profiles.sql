-- accountctl: bundle=profiles
-- accountctl: replaces=07e807240d7baececf753e2bacd30c47f2aefea4d5b9f0dcdf8befca16a8c133
-- accountctl: replaces=271f0f8f6749228d48f9dc62cc57a7cbb5c4846150b65c8b23a3a96126cd1358
-- accountctl: replaces=1f98a3c0da990a52b87d7a2376670b64cb4de25ba05cc112aee0d44288925de6
-- public.profiles with its grants and policies. A table of that name that is there already is adopted: its rows, columns,
-- grants and the app's own policies stay; what was done and what was left is in accountctl.adoption_notes.
-- Hot table: public.profiles.

-- The name of the policy for one command on one table that is, by its name and text, a published User Management
-- Starter's; null when there is none. With an empty search_path expressions print in one form only.
create function pg_temp.starter_policy(relation regclass, command "char")
returns name
language sql
stable
set search_path = ''
as $$
    select p.polname
    from pg_catalog.pg_policy as p
    join (
        values
            ('r', 'Public profiles are viewable by everyone.', 'true', null),
            ('a', 'Users can insert their own profile.', null, '(auth.uid() = id)'),
            ('a', 'Users can insert their own profile.', null, '(( SELECT auth.uid() AS uid) = id)'),
            ('w', 'Users can update own profile.', '(auth.uid() = id)', null),
            ('w', 'Users can update own profile.', '(( SELECT auth.uid() AS uid) = id)', null)
    ) as published (command, name, using_text, check_text)
        on p.polcmd::text = published.command
        and p.polname = published.name
        and pg_catalog.pg_get_expr(p.polqual, p.polrelid) is not distinct from published.using_text
        and pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) is not distinct from published.check_text
    where p.polrelid = starter_policy.relation
      and p.polcmd = starter_policy.command
      and p.polpermissive
      and p.polroles = array[0::oid]
$$;

do $$
declare
    -- own: everybody reads their own row; everyone: as the starter has it. Unset: what is there stays, new tables get own.
    visibility constant text := nullif(current_setting('accountctl.profiles_visibility', true), '');
    relation constant regclass := to_regclass('public.profiles');
    origin text;        -- created, starter or own: who made the table
    why_own text;       -- what makes it a table of the app's own
    tied boolean;       -- has a key to auth.users, so its writers are accounts
    secured boolean;    -- row-level security is on
    alterable boolean;  -- an ordinary table that this role may change
    withheld text;      -- what signed-in users may not do with all of it
    found name;
    verb record;
begin
    if visibility is not null and visibility not in ('own', 'everyone') then
        raise exception 'accountctl.profiles_visibility is "%", expected own or everyone', visibility
            using errcode = 'invalid_parameter_value';
    end if;

    if relation is null then
        origin := 'created';
        create table public.profiles (
            id uuid not null
                constraint profiles_pkey primary key
                constraint profiles_id_fkey references auth.users (id) on delete cascade,
            updated_at timestamptz,
            username text
                constraint profiles_username_key unique
                constraint username_length check (char_length(username) >= 3),
            full_name text,
            avatar_url text,
            website text
        );
        comment on table public.profiles is 'What an account shows of itself. Goes with the account.';
        comment on column public.profiles.id is 'The account: auth.users.id.';
        comment on column public.profiles.updated_at is 'When the app last saved the profile; the app sets it.';
        comment on column public.profiles.username is 'Chosen by the person; unique, at least three characters.';
        comment on column public.profiles.full_name is 'First filled from the sign-up or from the name Apple gives once.';
        comment on column public.profiles.avatar_url is 'The object''s key in the bucket avatars. Written by the person: never taken for proof of ownership.';
        comment on column public.profiles.website is 'Free text of the person.';
        insert into accountctl.adoption_notes (item, object, decision)
        values ('profiles.table', 'table public.profiles', 'created');

        -- Older projects open every new table to the API roles.
        revoke all on public.profiles from public, anon, authenticated, service_role;
        grant select, insert, update on public.profiles to authenticated;
        grant all on public.profiles to service_role;
        if visibility = 'everyone' then
            grant select on public.profiles to anon;
        end if;
        insert into accountctl.adoption_notes (item, object, decision)
        values ('profiles.privileges', 'table public.profiles', 'created');

        alter table public.profiles enable row level security;
        insert into accountctl.adoption_notes (item, object, decision)
        values ('profiles.row_security', 'table public.profiles', 'created');

        tied := true;
        secured := true;
        alterable := true;
    else
        select
            c.relkind in ('r', 'p') and pg_has_role(c.relowner, 'usage'),
            c.relrowsecurity,
            exists (
                select
                from pg_constraint as k
                where k.conrelid = c.oid
                  and k.contype = 'f'
                  and k.confrelid = 'auth.users'::regclass
            ),
            case
                when c.relkind not in ('r', 'p') then 'it is not a table'
                when not pg_has_role(c.relowner, 'usage') then format('it belongs to %s', c.relowner::regrole)
                -- Its key could not be given a delete rule NOT VALID.
                when c.relkind = 'p' then 'it is partitioned'
                when missing.columns is not null then format('it has no column %s', missing.columns)
                when not exists (
                    select
                    from pg_constraint as k
                    join pg_attribute as a on a.attrelid = c.oid and a.attname = 'id'
                    where k.conrelid = c.oid and k.contype = 'p' and k.conkey = array[a.attnum]
                ) then 'its primary key is not id'
                when not exists (
                    select
                    from pg_constraint as k
                    join pg_attribute as a on a.attrelid = c.oid and a.attname = 'id'
                    join pg_attribute as f on f.attrelid = k.confrelid and f.attname = 'id'
                    where k.conrelid = c.oid
                      and k.contype = 'f'
                      and k.confrelid = 'auth.users'::regclass
                      and k.conkey = array[a.attnum]
                      and k.confkey = array[f.attnum]
                ) then 'its id is no key to auth.users'
            end
        into alterable, secured, tied, why_own
        from pg_class as c
        cross join lateral (
            select string_agg(format('%s %s', wanted.name, wanted.type), ', ' order by wanted.position) as columns
            from (
                values
                    (1, 'id', 'uuid'),
                    (2, 'updated_at', 'timestamp with time zone'),
                    (3, 'username', 'text'),
                    (4, 'full_name', 'text'),
                    (5, 'avatar_url', 'text'),
                    (6, 'website', 'text')
            ) as wanted (position, name, type)
            where not exists (
                select
                from pg_attribute as a
                where a.attrelid = c.oid
                  and a.attname = wanted.name
                  and format_type(a.atttypid, null) = wanted.type
                  and a.attgenerated = ''
                  and not a.attisdropped
            )
        ) as missing
        where c.oid = relation;

        origin := case when why_own is null then 'starter' else 'own' end;
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values (
            'profiles.table',
            'table public.profiles',
            'kept',
            coalesce('a table of the app''s own: ' || why_own, 'the starter''s; rows and further columns stay')
        );

        if origin = 'own' then
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values ('profiles.privileges', 'table public.profiles', 'kept', 'a table of the app''s own');
        else
            select string_agg(needed.privilege, ', ' order by needed.position)
            into withheld
            from unnest(array['select', 'insert', 'update']) with ordinality as needed (privilege, position)
            where not has_table_privilege('authenticated', relation, needed.privilege);

            -- Never granted here: what is withheld, or given for single columns only, may be all that keeps a person from
            -- writing a column, or from reading everybody's.
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values (
                'profiles.privileges',
                'table public.profiles',
                case when withheld is null then 'kept' else 'left_off' end,
                case
                    when withheld is null then 'the grants suffice'
                    else format('withheld from authenticated: %s; grant what the app needs', withheld)
                end
            );
        end if;

        insert into accountctl.adoption_notes (item, object, decision, reason)
        values (
            'profiles.row_security',
            'table public.profiles',
            'kept',
            case when secured then 'on already' else 'off: switching it on would change who can read' end
        );
    end if;

    -- Later migrations of the bundle, and the worker, ask this.
    insert into accountctl.settings (name, value)
    values ('profiles.origin', to_jsonb(origin))
    on conflict (name) do update set value = excluded.value, updated_at = now();

    -- Who may read and write which row.
    for verb in
        select *
        from (
            values
                ('select', 'r'::"char", 'profiles_select', 'using ((select auth.uid()) = id)'),
                ('insert', 'a'::"char", 'profiles_insert_own', 'with check ((select auth.uid()) = id)'),
                (
                    'update', 'w'::"char", 'profiles_update_own',
                    'using ((select auth.uid()) = id) with check ((select auth.uid()) = id)'
                )
        ) as wanted (name, command, policy, rule)
    loop
        found := null;
        if origin = 'starter' then
            found := pg_temp.starter_policy(relation, verb.command);
        end if;
        if origin = 'created' and verb.name = 'select' and visibility = 'everyone' then
            create policy profiles_select on public.profiles for select to anon, authenticated using (true);
            insert into accountctl.adoption_notes (item, object, decision)
            values ('profiles.policy.select', 'policy profiles_select on public.profiles', 'created');
        elsif origin = 'created' then
            execute format(
                'create policy %I on public.profiles for %s to authenticated %s', verb.policy, verb.name, verb.rule
            );
            insert into accountctl.adoption_notes (item, object, decision)
            values (
                'profiles.policy.' || verb.name, format('policy %I on public.profiles', verb.policy), 'created'
            );
        elsif found is not null and verb.name = 'select' and visibility is distinct from 'own' then
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values (
                'profiles.policy.select', format('policy %I on public.profiles', found), 'kept',
                'who can read stays as it is; visibility = own narrows it'
            );
        elsif found is not null and secured then
            -- Both in this transaction: nobody sees the table without a policy.
            execute format('drop policy %I on public.profiles', found);
            execute format(
                'create policy %I on public.profiles for %s to authenticated %s', verb.policy, verb.name, verb.rule
            );
            insert into accountctl.adoption_notes (item, object, decision)
            values (
                'profiles.policy.' || verb.name, format('policy %I on public.profiles', found), 'replaced'
            );
        else
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values (
                'profiles.policy.' || verb.name,
                'policies on public.profiles',
                'kept',
                case
                    when origin = 'own' then 'a table of the app''s own'
                    when not secured then 'row-level security is off'
                    else 'no policy for this is a published starter''s by its text; the app''s own rules stay'
                end
            );
        end if;
    end loop;

    -- Locked out means locked out: a token outlives its session. Restrictive, so that it holds beside any other policy; a
    -- check without a using clause, so that a locked-out writer gets an error and not "no rows".
    for verb in
        select * from (values ('insert', 'profiles_insert_open'), ('update', 'profiles_update_open')) as wanted (name, policy)
    loop
        if alterable and secured and tied then
            execute format(
                'create policy %I on public.profiles as restrictive for %s to authenticated '
                'with check ((select accountctl.account_open()))',
                verb.policy, verb.name
            );
            insert into accountctl.adoption_notes (item, object, decision)
            values (
                'profiles.lockout.' || verb.name, format('policy %I on public.profiles', verb.policy), 'created'
            );
        else
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values (
                'profiles.lockout.' || verb.name,
                format('policy %I on public.profiles', verb.policy),
                'left_off',
                case
                    when not alterable then why_own
                    when not secured then 'row-level security is off'
                    else 'no key to auth.users: its writers need not be accounts'
                end
            );
        end if;
    end loop;
end
$$;

drop function pg_temp.starter_policy(regclass, "char");
