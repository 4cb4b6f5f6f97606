-- accountctl: bundle=core
-- Functions with their owner's rights look for names in pg_temp last: an empty path has it first for the names of types and tables,
-- and whoever is signed in may make a type there that is named like one that a function declares.

do $$
declare
    function regprocedure;
begin
    for function in
        select p.oid
        from pg_proc as p
        where p.prosecdef
          and (
              p.pronamespace = 'accountctl'::regnamespace
              -- The app's own is left as it is.
              or p.oid = to_regprocedure('public.handle_new_user()')
                  and exists (
                      select
                      from accountctl.adoption_notes as n
                      where n.item = 'profiles.sign_up'
                        and n.decision in ('created', 'replaced')
                  )
                  and p.proconfig = array['search_path=""']
                  and pg_has_role(p.proowner, 'usage')
          )
    loop
        execute format('alter function %s set search_path = pg_catalog, pg_temp', function);
    end loop;
end
$$;
