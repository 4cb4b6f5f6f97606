-- accountctl: bundle=core
-- What the role accountctl_operator is for. No role can be given less than the program's commands need and more than nothing:
-- `postgres` itself has the schema `auth` without the right to pass it on.

do $$
begin
    comment on role accountctl_operator is
        'Programs beside accountctl, such as the app''s mailer: may ask accountctl.can_send and add to the operators'' log, and reads nothing.';
exception
    -- From 16 on only who made a role may say what it is for: another database's administrator, perhaps.
    when insufficient_privilege then null;
end
$$;
