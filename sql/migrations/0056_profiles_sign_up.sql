-- accountctl: bundle=profiles
-- Where the starter's function at sign-up was replaced, the profile takes name and avatar as they came, as the starter's did: the app
-- may have forbidden null there, and a sign-up with an empty text is not to fail for it.

do $$
begin
    if exists (
        select
        from accountctl.adoption_notes
        where item = 'profiles.sign_up'
          and decision = 'replaced'
    )
    and exists (
        select
        from pg_proc as p
        where p.oid = to_regprocedure('public.handle_new_user()')
          and pg_has_role(p.proowner, 'usage')
          -- SHA-256 of the body that 0015 gave it, white space collapsed: one that somebody has changed since stays.
          and encode(sha256(convert_to(btrim(regexp_replace(p.prosrc, '\s+', ' ', 'g')), 'UTF8')), 'hex')
              = 'f9b2bc31c86805e3e5390e780c4b8095dfd6f1e51ef8a3cea0ef14cbc2e451fc'
    ) then
        create or replace function public.handle_new_user()
        returns trigger
        language plpgsql
        security definer
        set search_path = pg_catalog, pg_temp
        as $function$
        begin
            -- A second trigger, or an app that was faster, must not make a sign-up fail.
            insert into public.profiles (id, full_name, avatar_url)
            values (
                new.id,
                new.raw_user_meta_data ->> 'full_name',
                new.raw_user_meta_data ->> 'avatar_url'
            )
            on conflict do nothing;
            return new;
        end
        $function$;
    end if;
end
$$;
