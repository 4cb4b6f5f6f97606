-- accountctl: bundle=core
-- What a function with its owner's rights calls runs with those rights, too, and looks for names by a path of its own: pg_temp comes
-- last in that one as well. A function whose body is kept parsed has found its names, and stays as it is.

do $$
declare
    function regprocedure;
begin
    for function in
        select p.oid
        from pg_proc as p
        where p.pronamespace = 'accountctl'::regnamespace
          and p.prosqlbody is null
          and p.proconfig = array['search_path=""']
    loop
        execute format('alter function %s set search_path = pg_catalog, pg_temp', function);
    end loop;
end
$$;
