-- accountctl: bundle=profiles
-- The rules on usernames, where an adopted starter's table has lost them and its rows keep them. Where they do not the
-- rule is left off: NOT VALID would freeze the rows that break it, since every later update of such a row is refused.
-- Hot table: public.profiles.

do $$
declare
    origin constant text := (select value #>> '{}' from accountctl.settings where name = 'profiles.origin');
    relation constant regclass := 'public.profiles'::regclass;
    breaking bigint;
begin
    if origin <> 'starter' then
        insert into accountctl.adoption_notes (item, object, decision, reason)
        select
            item,
            'constraint on public.profiles',
            case origin when 'created' then 'created' else 'left_off' end,
            case origin when 'created' then null else 'a table of the app''s own' end
        from unnest(array['profiles.username_unique', 'profiles.username_length']) as item;
        return;
    end if;

    if exists (
        select
        from pg_index as i
        join pg_attribute as a on a.attrelid = i.indrelid and a.attname = 'username'
        where i.indrelid = relation
          and i.indisunique
          and i.indisvalid
          and i.indpred is null
          and i.indnkeyatts = 1
          and i.indkey[0] = a.attnum
    ) then
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values ('profiles.username_unique', 'constraint on public.profiles', 'kept', 'usernames are unique already');
    else
        -- Writers wait, readers do not, while the index is built; the plan says so.
        lock table public.profiles in share mode;
        select count(*)
        into breaking
        from (select from public.profiles where username is not null group by username having count(*) > 1) as twice;
        if breaking = 0 then
            create unique index profiles_username_key on public.profiles (username);
            alter table public.profiles add constraint profiles_username_key unique using index profiles_username_key;
            insert into accountctl.adoption_notes (item, object, decision)
            values ('profiles.username_unique', 'constraint on public.profiles', 'created');
        else
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values (
                'profiles.username_unique', 'constraint on public.profiles', 'left_off',
                format('%s usernames are there more than once', breaking)
            );
        end if;
    end if;

    if exists (
        select
        from pg_constraint as k
        join pg_attribute as a on a.attrelid = k.conrelid and a.attname = 'username'
        where k.conrelid = relation
          and k.contype = 'c'
          and a.attnum = any (k.conkey)
    ) then
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values ('profiles.username_length', 'constraint on public.profiles', 'kept', 'usernames have a rule already');
    else
        select count(*) into breaking from public.profiles where char_length(username) < 3;
        if breaking = 0 then
            -- 0014 validates it under a lock that lets writers work.
            alter table public.profiles
                add constraint username_length check (char_length(username) >= 3) not valid;
            insert into accountctl.adoption_notes (item, object, decision)
            values ('profiles.username_length', 'constraint on public.profiles', 'created');
        else
            insert into accountctl.adoption_notes (item, object, decision, reason)
            values (
                'profiles.username_length', 'constraint on public.profiles', 'left_off',
                format('%s usernames are shorter than three characters', breaking)
            );
        end if;
    end if;
end
$$;
