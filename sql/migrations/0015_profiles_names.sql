-- accountctl: bundle=profiles
-- accountctl: replaces=4d83794713a1d5e503a3e63c97903ff4bab5ef5174312a99616bf243378abdee
-- What fills profiles from the account: a row at sign-up, and the name that Apple gives once.
-- Sign-up is never put at risk: the starter's function is replaced in place, any other is left, a second trigger that fires
-- at sign-up is not added.
-- Hot table: auth.users.

do $$
declare
    origin constant text := (select value #>> '{}' from accountctl.settings where name = 'profiles.origin');
    -- SHA-256 of the published function's body, white space collapsed; both versions have the same body.
    published constant text := 'ca972fdacc6141ce83c3333aed3754e34f1243aad42dd66cacd03ad3b88c337c';
    body constant text := $body$
begin
    -- A second trigger, or an app that was faster, must not make a sign-up fail.
    insert into public.profiles (id, full_name, avatar_url)
    values (
        new.id,
        nullif(btrim(new.raw_user_meta_data ->> 'full_name'), ''),
        nullif(btrim(new.raw_user_meta_data ->> 'avatar_url'), '')
    )
    on conflict do nothing;
    return new;
end
$body$;
    existing constant regprocedure := to_regprocedure('public.handle_new_user()');
    starters boolean;   -- public.handle_new_user is a published starter's
    fired name;         -- a trigger that fires it at sign-up
    other name;         -- any trigger that fires at sign-up
begin
    select
        coalesce(bool_or(
            p.prosecdef
            and p.prorettype = 'trigger'::regtype
            and pg_has_role(p.proowner, 'usage')
            and encode(sha256(convert_to(btrim(regexp_replace(p.prosrc, '\s+', ' ', 'g')), 'UTF8')), 'hex') = published
        ), false)
    into starters
    from pg_proc as p
    where p.oid = existing;

    select min(t.tgname) filter (where t.tgfoid = existing), min(t.tgname)
    into fired, other
    from pg_trigger as t
    where t.tgrelid = 'auth.users'::regclass
      and not t.tgisinternal
      and t.tgtype & 1 = 1      -- for each row
      and t.tgtype & 2 = 0      -- after, so it may write rows elsewhere
      and t.tgtype & 4 = 4      -- insert
      and t.tgenabled <> 'D';

    if origin <> 'own' and starters and fired is not null then
        execute format(
            'create or replace function public.handle_new_user() returns trigger language plpgsql '
            'security definer set search_path = pg_catalog, pg_temp as %L', body
        );
        revoke execute on function public.handle_new_user() from public, anon, authenticated;
        insert into accountctl.adoption_notes (item, object, decision)
        values ('profiles.sign_up', 'function public.handle_new_user()', 'replaced');
    elsif origin = 'created' and existing is null and other is null then
        execute format(
            'create function public.handle_new_user() returns trigger language plpgsql '
            'security definer set search_path = pg_catalog, pg_temp as %L', body
        );
        comment on function public.handle_new_user() is 'Trigger on auth.users: makes the profile of a new account.';
        revoke execute on function public.handle_new_user() from public, anon, authenticated;
        create trigger on_auth_user_created
            after insert on auth.users
            for each row execute function public.handle_new_user();
        insert into accountctl.adoption_notes (item, object, decision)
        values ('profiles.sign_up', 'function public.handle_new_user()', 'created');
    elsif other is not null then
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values (
            'profiles.sign_up', format('trigger %I on auth.users', other), 'kept',
            'it fires at sign-up and is not a published starter''s by its text; a second one is not added, so it or the app '
            'has to make the profile'
        );
    else
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values (
            'profiles.sign_up', 'function public.handle_new_user()', 'left_off',
            case
                when origin = 'created' then 'a function of that name is there and is not fired at sign-up'
                else 'the table was there without a sign-up trigger: the app makes its rows itself'
            end
        );
    end if;

    if origin = 'own' then
        insert into accountctl.adoption_notes (item, object, decision, reason)
        values (
            'profiles.name', 'trigger accountctl_profile_name on auth.users', 'left_off', 'a table of the app''s own'
        );
        return;
    end if;

    create function accountctl.fill_profile_name()
    returns trigger
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
    as $function$
    begin
        update public.profiles as p
        set full_name = btrim(new.raw_user_meta_data ->> 'full_name')
        where p.id = new.id
          and nullif(btrim(p.full_name), '') is null;
        return null;
    exception
        -- Whatever the app has put on its table, signing in does not fail for a name.
        when others then
            raise warning 'accountctl: the name was not copied to the profile (%)', sqlstate;
            return null;
    end
    $function$;
    comment on function accountctl.fill_profile_name() is
        'Trigger on auth.users: copies the name to a profile without one.';
    revoke execute on function accountctl.fill_profile_name() from public;

    -- Apple gives the name at the first sign-in only and the app stores it a moment later. Fired by that one step from empty
    -- to not empty, so a name that the person clears from the profile stays cleared.
    create or replace trigger accountctl_profile_name
        after update of raw_user_meta_data on auth.users
        for each row
        when (
            nullif(btrim(old.raw_user_meta_data ->> 'full_name'), '') is null
            and nullif(btrim(new.raw_user_meta_data ->> 'full_name'), '') is not null
        )
        execute function accountctl.fill_profile_name();
    insert into accountctl.adoption_notes (item, object, decision)
    values ('profiles.name', 'trigger accountctl_profile_name on auth.users', 'created');
end
$$;
