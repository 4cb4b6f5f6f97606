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
    ) then
        comment on function public.handle_new_user() is
            'Trigger on auth.users: makes the profile of a new account. Of accountctl.';
    end if;
end
$$;
