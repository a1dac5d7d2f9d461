package hostile

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
)

// OpenUnfinished opens n TLS connections. After each handshake, it begins a handshake message that announces a number
// of bytes, and sends only some of them. A crypto/tls client cannot do this.
func OpenUnfinished(ctx context.Context, addr string, n, announced, sent int) (*Peers, error) {
	text := make([]byte, sent)
	const certificate = 11 // the handshake message with the largest limit in crypto/tls
	binary.BigEndian.PutUint32(text, certificate<<24|uint32(announced))
	greet := func(conn net.Conn) error {
		records, err := handshake(ctx, conn)
		if err != nil {
			return err
		}
		return records.write(conn, text)
	}
	return open(ctx, n, greet, func(i int) (net.Conn, error) { return dial(ctx, addr, i) })
}

// records encrypts and writes the data of a TLS 1.3 client after its handshake.
type records struct {
	aead     cipher.AEAD
	iv       []byte
	sequence uint64
}

// handshake performs a TLS handshake on conn and returns a writer for the data after it.
func handshake(ctx context.Context, conn net.Conn) (*records, error) {
	var keys bytes.Buffer
	config := Unverified()
	config.KeyLogWriter = &keys //nolint:gosec // the keys are needed here
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if suite := client.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		return nil, fmt.Errorf("the server has chosen %s", tls.CipherSuiteName(suite))
	}
	return newRecords(keys.String())
}

func newRecords(keys string) (*records, error) {
	const label = "CLIENT_TRAFFIC_SECRET_0"
	_, line, found := bytes.Cut([]byte(keys), []byte(label))
	if fields := bytes.Fields(line); found && len(fields) > 1 {
		secret, err := hex.DecodeString(string(fields[1]))
		if err != nil {
			return nil, err
		}
		key, err := expand(secret, "key", 16)
		if err != nil {
			return nil, err
		}
		iv, err := expand(secret, "iv", 12)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		return &records{aead: aead, iv: iv}, err
	}
	return nil, errors.New("the handshake did not log any keys")
}

// expand implements HKDF-Expand-Label of RFC 8446, without a context.
func expand(secret []byte, label string, n int) ([]byte, error) {
	label = "tls13 " + label
	info := append([]byte{0, byte(n), byte(len(label))}, label...)
	return hkdf.Expand(sha256.New, secret, string(append(info, 0)), n)
}

// write sends text as part of handshake messages.
func (r *records) write(conn net.Conn, text []byte) error {
	const most, handshakeMessage, applicationData = 16 << 10, 22, 23
	for len(text) > 0 {
		n := min(len(text), most)
		plain := append(bytes.Clone(text[:n]), handshakeMessage)
		text = text[n:]
		header := binary.BigEndian.AppendUint16([]byte{applicationData, 3, 3}, uint16(len(plain)+r.aead.Overhead()))
		nonce := bytes.Clone(r.iv)
		for i, b := range binary.BigEndian.AppendUint64(nil, r.sequence) {
			nonce[len(nonce)-8+i] ^= b
		}
		r.sequence++
		if _, err := conn.Write(r.aead.Seal(header, nonce, plain, header)); err != nil {
			return err
		}
	}
	return nil
}
