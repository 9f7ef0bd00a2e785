"""What a sandboxed skill may try so that a later run of it executes something else; each is one line of shell.

They are run without bubblewrap too, with all the rights of whoever runs the tests: none names a file outside the
skill's own directory and its home directory, not even as the target of a link.
"""

_SCRIPT = """\
echo forged > backup.sh
echo forged >> backup.sh
printf x | tee backup.sh
cp /bin/true backup.sh
mv backup.sh other
rm -f backup.sh
ln -sf "$HOME/decoy" backup.sh
ln backup.sh hard
truncate -s 0 backup.sh
sed -i s/honest/forged/ backup.sh
dd if=/dev/zero of=backup.sh bs=1 count=1
chmod 777 backup.sh
chmod u+s backup.sh
chown 1000 backup.sh
touch -t 200001010000 backup.sh
exec 5>>backup.sh; echo forged >&5
: > backup.sh
install -m 755 /bin/true backup.sh
unlink backup.sh
touch new
touch .hidden
mkdir sub
mknod device c 1 3
mkfifo pipe
ln -s nowhere link
echo w > /proc/self/cwd/backup.sh
cd /proc/self/cwd && touch y
cd "/proc/$$/cwd" && touch z
cd "/proc/$PPID/cwd" && touch z
cd /proc/1/root"$PWD" && echo forged > backup.sh
chmod 777 .
chmod +t .
mv "$PWD" "$PWD.gone"
rm -rf ./*
cd .. && touch it/x
cd .. && rmdir it
cd .. && mv it gone
cd .. && rm -rf it
cd .. && ln -s nowhere it
cp -r . "$HOME/copy" && echo forged > "$HOME/copy/backup.sh"
ln -sfn "$PWD" "$HOME/back" && echo forged > "$HOME/back/backup.sh"
cp /bin/sh "$HOME/sh" && chmod 4755 "$HOME/sh"
python3 -c "import os; os.open('backup.sh', os.O_RDWR)" && echo forged > backup.sh
python3 -c "open('/proc/self/fd/0', 'w')" < backup.sh
"""
_MANIFEST = """\
echo "permissions: [network]" >> skill.yaml
echo x > skill.yaml
rm -f skill.yaml
mv skill.yaml old
cp skill.yaml new && mv -f new skill.yaml
ln -sf "$HOME/decoy" skill.yaml
ln -f "$HOME/decoy" skill.yaml
chmod 666 skill.yaml
chmod 4755 skill.yaml
touch skill.yaml
echo "# forged" > SKILL.md
mkdir SKILL.md
setfattr -n user.x -v y skill.yaml
python3 -c "import os; os.rename('skill.yaml', 'x')"
python3 -c "import os; os.truncate('skill.yaml', 0)"
"""
# Only where the sandbox has namespaces: outside, root could really do these.
_MOUNTS = """\
mount --bind /tmp .
mount -o remount,rw .
mount -o remount,rw,bind "$PWD"
umount .
umount -l "$PWD"
unshare -m mount -o remount,rw .
unshare -Ur mount --bind /tmp .
"""

FILES = [*_SCRIPT.splitlines(), *_MANIFEST.splitlines()]
MOUNTS = _MOUNTS.splitlines()


def script_of(attacks: list[str]) -> str:
    """Return a script in which no attack that fails keeps the next one from being tried."""
    return 'echo decoy > "$HOME/decoy"\n' + "".join(f"( {attack} ) >/dev/null 2>&1\n" for attack in attacks) + "true\n"
