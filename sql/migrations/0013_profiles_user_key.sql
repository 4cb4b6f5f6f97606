-- accountctl: bundle=profiles
-- The starter's key from profiles to auth.users has no delete rule, so deleting an account fails. It becomes ON DELETE
-- CASCADE here, NOT VALID (a moment's lock); 0014 validates it.
-- Hot table: auth.users.

do $$
declare
    origin constant text := (select value #>> '{}' from accountctl.settings where name = 'profiles.origin');
    key record;
begin
    if origin = 'created' then
        insert into accountctl.adoption_notes (item, object, decision)
        values ('profiles.user_key', 'constraint profiles_id_fkey on public.profiles', 'created');
        return;
    end if;

    -- Several keys on the same column are possible; the one that blocks counts.
    select k.conname as name, k.confdeltype in ('a', 'r') as blocks
    into key
    from pg_constraint as k
    join pg_attribute as a on a.attrelid = k.conrelid and a.attname = 'id'
    where k.conrelid = 'public.profiles'::regclass
      and k.contype = 'f'
      and k.confrelid = 'auth.users'::regclass
      and k.conkey = array[a.attnum]
    order by blocks desc, k.conname
    limit 1;

    if origin = 'own' then
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values (
            'profiles.user_key', 'keys of public.profiles', 'kept',
            'a table of the app''s own; a deletion plans by whatever keys it has'
        );
    elsif not key.blocks then
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values (
            'profiles.user_key', format('constraint %I on public.profiles', key.name), 'kept',
            'it does not block the deletion of an account'
        );
    else
        -- Changing the key takes both locks in the end. Taken at once, and in the order in which a sign-up takes them (the
        -- account, then by the trigger its profile): otherwise the two could wait for each other.
        lock table auth.users in access exclusive mode;
        lock table public.profiles in access exclusive mode;
        execute format(
            'alter table public.profiles drop constraint %1$I, '
            'add constraint %1$I foreign key (id) references auth.users (id) on delete cascade not valid',
            key.name
        );
        insert into accountctl.adoption_notes (item, object, decision)
        values ('profiles.user_key', format('constraint %I on public.profiles', key.name), 'replaced');
    end if;
end
$$;
