-- accountctl: bundle=profiles
-- The bucket `avatars` and its policies on storage.objects. A bucket that is there already keeps its settings and files, a
-- policy is replaced only where it is, by its name and text, a published User Management Starter's.
-- Hot table: storage.objects.

-- As in 0010, for storage.objects.
create function pg_temp.starter_policy(command "char")
returns name
language sql
stable
set search_path = ''
as $$
    select p.polname
    from pg_catalog.pg_policy as p
    join (
        values
            ('r', 'Avatar images are publicly accessible.', '(bucket_id = ''avatars''::text)', null),
            (
                'r', 'Avatar images are publicly accessible.',
                '((bucket_id = ''avatars''::text) AND storage.allow_any_operation(ARRAY['
                '''object.get_authenticated_info''::text, ''object.get_authenticated''::text]))',
                null
            ),
            ('a', 'Anyone can upload an avatar.', null, '(bucket_id = ''avatars''::text)'),
            (
                'w', 'Anyone can update their own avatar.', '(auth.uid() = owner)', '(bucket_id = ''avatars''::text)'
            ),
            (
                'w', 'Anyone can update their own avatar.', '(( SELECT auth.uid() AS uid) = owner)',
                '(bucket_id = ''avatars''::text)'
            )
    ) as published (command, name, using_text, check_text)
        on p.polcmd::text = published.command
        and p.polname = published.name
        and pg_catalog.pg_get_expr(p.polqual, p.polrelid) is not distinct from published.using_text
        and pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) is not distinct from published.check_text
    where p.polrelid = 'storage.objects'::pg_catalog.regclass
      and p.polcmd = starter_policy.command
      and p.polpermissive
      and p.polroles = array[0::oid]
$$;

do $$
declare
    visibility constant text := nullif(current_setting('accountctl.profiles_visibility', true), '');
    fresh constant boolean := not exists (select from storage.buckets where id = 'avatars' or name = 'avatars');
    -- The starter ruled this bucket: deleting one's own files, which it forgot, is added.
    starter constant boolean :=
        pg_temp.starter_policy('a') is not null or pg_temp.starter_policy('w') is not null;
    -- owner_id is what the Storage server takes from the token; owner is deprecated.
    own constant text := 'bucket_id = ''avatars'' and owner_id = (select auth.uid()::text)';
    rule text;
    found name;
    verb record;
begin
    if visibility is not null and visibility not in ('own', 'everyone') then
        raise exception 'accountctl.profiles_visibility is "%", expected own or everyone', visibility
            using errcode = 'invalid_parameter_value';
    end if;

    if fresh then
        insert into storage.buckets (id, name, public) values ('avatars', 'avatars', false);
        insert into accountctl.adoption_notes (item, object, decision)
        values ('avatars.bucket', 'bucket avatars', 'created');
    else
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values ('avatars.bucket', 'bucket avatars', 'kept', 'it is there already; its settings and files stay');
    end if;

    for verb in
        select *
        from (
            values
                ('select', 'r'::"char", 'avatars_select'),
                ('insert', 'a'::"char", 'avatars_insert_own'),
                ('update', 'w'::"char", 'avatars_update_own'),
                ('delete', 'd'::"char", 'avatars_delete_own')
        ) as wanted (name, command, policy)
    loop
        found := pg_temp.starter_policy(verb.command);
        rule := case verb.name
            when 'insert' then format('to authenticated with check (%s)', own)
            when 'update' then format('to authenticated using (%s) with check (%s)', own, own)
            else format('to authenticated using (%s)', own)
        end;
        if verb.name = 'select' and visibility = 'everyone' then
            rule := 'to anon, authenticated using (bucket_id = ''avatars'')';
        end if;

        if found is not null and verb.name = 'select' and visibility is distinct from 'own' then
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values (
                'avatars.policy.select', format('policy %I on storage.objects', found), 'kept',
                'who can read stays as it is; visibility = own narrows it'
            );
            -- The Swift example lets objects be read by downloads only, but the Storage server deletes what it can see.
            if exists (
                select
                from pg_policy as p
                where p.polrelid = 'storage.objects'::regclass
                  and p.polname = found
                  and pg_get_expr(p.polqual, p.polrelid) like '%allow_any_operation%'
            ) then
                execute format('create policy %I on storage.objects for select to authenticated using (%s)', verb.policy, own);
                insert into accountctl.adoption_notes (item, object, decision)
                values ('avatars.policy.select_own', format('policy %I on storage.objects', verb.policy), 'created');
            end if;
        elsif found is not null then
            execute format('drop policy %I on storage.objects', found);
            execute format('create policy %I on storage.objects for %s %s', verb.policy, verb.name, rule);
            insert into accountctl.adoption_notes (item, object, decision)
            values ('avatars.policy.' || verb.name, format('policy %I on storage.objects', found), 'replaced');
        elsif fresh or (starter and verb.name = 'delete') then
            execute format('create policy %I on storage.objects for %s %s', verb.policy, verb.name, rule);
            insert into accountctl.adoption_notes (item, object, decision)
            values (
                'avatars.policy.' || verb.name, format('policy %I on storage.objects', verb.policy), 'created'
            );
        else
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values (
                'avatars.policy.' || verb.name, 'policies on storage.objects', 'kept',
                'no policy for this is a published starter''s by its text; the app''s own rules stay'
            );
        end if;
    end loop;

    -- Locked out means locked out, as on profiles; objects of other buckets pass.
    for verb in
        select * from (values ('insert', 'avatars_insert_open'), ('update', 'avatars_update_open')) as wanted (name, policy)
    loop
        execute format(
            'create policy %I on storage.objects as restrictive for %s to authenticated '
            'with check (bucket_id is distinct from ''avatars'' or (select accountctl.account_open()))',
            verb.policy, verb.name
        );
        insert into accountctl.adoption_notes (item, object, decision)
        values ('avatars.lockout.' || verb.name, format('policy %I on storage.objects', verb.policy), 'created');
    end loop;
exception
    when insufficient_privilege then
        raise exception 'this role may not create policies on storage.objects: %', sqlerrm
            using errcode = 'insufficient_privilege',
                hint = 'Migrate as the role postgres of the platform; on a plain server lend it the ownership meanwhile.';
end
$$;

drop function pg_temp.starter_policy("char");
