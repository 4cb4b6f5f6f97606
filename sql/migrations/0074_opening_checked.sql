-- accountctl: bundle=core
-- Whether a call opens a deletion is known once it has: one that saw a request open, and then waited for the account's row or for the
-- person who was cancelling, opened a new one, and had not been asked for what opening asks for. So it is asked afterwards; an error
-- takes back what was opened, with its job and the code.
--
-- Of several errors, 22023 and PT410 for the code now come before PT403 and PT429.

create or replace function accountctl.request_account_deletion(
    authorization_code text,
    client_id text,
    redirect_uri text,
    reason text
)
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    caller uuid := accountctl.calling_account();
    request uuid;
    is_new boolean;
    code_accepted boolean;
begin
    if char_length(reason) > 1000 then
        raise exception 'reason must have at most 1000 characters' using errcode = '22023';
    end if;
    if authorization_code is not null then
        -- Nobody is kept from deleting the account by a code too many: the request goes on without it.
        code_accepted := accountctl.accept_authorization_code(caller, authorization_code, client_id, redirect_uri) is not null;
    end if;
    select opened.request_id, opened.opened
    into strict request, is_new
    from accountctl.open_deletion_request(caller, 'app', request_account_deletion.reason) as opened;
    -- Asking again for one that is open costs nothing and is never refused.
    if is_new then
        perform accountctl.require_full_sign_in(caller);
        -- Each leaves a row.
        perform accountctl.require_requests_left(caller);
    end if;
    return accountctl.deletion_status_document(request)
        || jsonb_build_object(
            'status_token', case when accountctl.is_full_sign_in(caller) then accountctl.new_status_token(request) end,
            'code_accepted', code_accepted
        );
end;
$$;
