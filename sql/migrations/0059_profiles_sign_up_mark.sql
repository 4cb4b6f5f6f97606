-- accountctl: bundle=profiles
-- The function at sign-up says whose it is: where the migrations made or replaced it, `migrate verify` looks at it. One that stayed
-- the app's own is the app's to change.

do $$
begin
    if exists (
        select
        from accountctl.adoption_notes
        where item = 'profiles.sign_up'
          and decision in ('created', 'replaced')
    )
    and exists (
        select
        from pg_proc as p
        where p.oid = to_regprocedure('public.handle_new_user()')
          and pg_has_role(p.proowner, 'usage')
          -- SHA-256 of the bodies that 0015 and 0056 gave it, white space collapsed: one that somebody has changed since stays the app's.
          and encode(sha256(convert_to(btrim(regexp_replace(p.prosrc, '\s+', ' ', 'g')), 'UTF8')), 'hex') in (
              'f9b2bc31c86805e3e5390e780c4b8095dfd6f1e51ef8a3cea0ef14cbc2e451fc',
              '9f288f7895c6ad21af61970bfcb5ac1d67f0cb9d08ee2c96ada32dfe8c1aa5df'
          )
    ) then
        comment on function public.handle_new_user() is
            'Trigger on auth.users: makes the profile of a new account. Of accountctl.';
    end if;
end
$$;
