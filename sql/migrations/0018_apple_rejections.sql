-- accountctl: bundle=core
-- What workers tell each other about client ids that Apple rejects, and notifications without a listener.

create table accountctl.apple_rejections (
    client_id text primary key,
    team_id text not null,
    key_id text not null,
    refusal text not null,
    since timestamptz not null default now(),
    retry_after timestamptz not null,
    constraint apple_rejections_client_id check (client_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$')
);

comment on table accountctl.apple_rejections is
    'Client ids that Apple rejects now: no worker calls for them until one of them has tested the client id again.';
comment on column accountctl.apple_rejections.retry_after is 'When the next test is due. Whoever succeeds removes the row.';

-- For an edge function with the service key. The body is put together as Apple sent it; the worker verifies it.
create function public.receive_apple_notification(payload text default null)
returns boolean
language sql
volatile
security invoker
set search_path = ''
begin atomic
    select accountctl.receive_apple_notification(jsonb_build_object('payload', payload)::text);
end;

comment on function public.receive_apple_notification is
    'Stores one of Apple''s notifications for the worker to verify; false when it is there already. For the service key alone.';

revoke all on function public.receive_apple_notification(text) from public, anon, authenticated;
revoke all on function accountctl.receive_apple_notification(text) from public, anon, authenticated;
grant execute on function public.receive_apple_notification(text) to service_role;
grant execute on function accountctl.receive_apple_notification(text) to service_role;

-- PostgREST learns of the new function when this commits.
notify pgrst, 'reload schema';
